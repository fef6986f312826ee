"""The server: the exchange made durable and put on the network.

    serve        the process: log, socket, signals; `first_start` makes a new market
    lifecycle    puts all parts together over one `data_folder`
    gateway      the only way in: applies a command, journals it, and releases nothing before it
                 is durable
    admission    rate limits and the fair queue: checked before any work for a caller
    event_log    an index of the journal's events and idempotency keys, for resumed streams and
                 repeated requests
    maintenance  work at intervals: holds, lost sessions, books; `retention` takes snapshots and
                 archives
    views        the exchange as callers see it; also `billing`, `statements` and `spending`
    http         the REST API, `websocket` the sessions, `webhooks` the deliveries, `audit` the log
                 of refusals, `console` the static files of the web console
    beside       state that is not needed to start: sign-ins, webhook cursors, dead letters

The rules are in `laissez.exchange`, the vocabulary of the API in `laissez.wire`.
"""
