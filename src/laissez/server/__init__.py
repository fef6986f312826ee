"""The server: the exchange made durable and put on the network.

    gateway      the one way in: applies a command, journals it, and lets nothing out before it is
                 durable
    admission    rate limits and the fair queue: asked before anything is done for a caller
    event_log    which entry of the journal holds which events, for streams that resume;
                 `idempotency` does the same for clients' ids
    http         the REST API, `websocket` the sessions, `webhooks` the deliveries, `audit` the log
                 of refusals, `console` the static files of the web console
    lifecycle    puts all parts together over one data folder; `serve` puts them behind a socket
    beside       state that is not needed to start: sign-ins, webhook cursors, dead letters

What the exchange decides is in `laissez.exchange`; what callers see is in `laissez.wire`.
"""
