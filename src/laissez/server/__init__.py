"""The server: the exchange made durable and put on the network.

    serve        the process: log, socket, signals; `first_start` makes a new market
    lifecycle    puts all parts together over one `data_folder`
    gateway      the one way in: applies a command, journals it, and lets nothing out before it is
                 durable
    admission    rate limits and the fair queue: asked before anything is done for a caller
    event_log    which entry of the journal holds which events, for streams that resume;
                 `idempotency` does the same for clients' ids
    maintenance  what the service does by itself; `retention` takes snapshots and archives
    views        the exchange as callers see it; so do `billing`, `statements` and `figures`
    http         the REST API, `websocket` the sessions, `webhooks` the deliveries, `audit` the log
                 of refusals, `console` the static files of the web console
    beside       state that is not needed to start: sign-ins, webhook cursors, dead letters

What the exchange decides is in `laissez.exchange`; what callers see is in `laissez.wire`.
"""
