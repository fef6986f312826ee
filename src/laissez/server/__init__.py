"""The service: the market made durable and put on the network.

    exchange   the state that is journaled: the market, the tenants' accounts, their keys;
               deterministic, no clock, no I/O
    desk       the one way in: admits a command, applies it, journals it, and lets no answer out
               before it is durable
    history    what happened lately, numbered per tenant, for streams that resume
    session    the WebSocket session; `http` is the REST API; `server` puts it all together

What tenants see of all this is in `laissez.wire`.
"""
