"""The REST API: bytes in, JSON out, over the one table of operations in `operations`.

    protocol        the HTTP/1.1 connection: deadlines, pipelining, backpressure, streams, upgrades
    parser          requests from bytes, with limits on heads and trailers
    app             routes, and what all connections share
    request         one request: its head, its body as it arrives, the way to answer it
    response        the bytes of an answer
    operations      what can be asked, by whom, and what is answered; routes, OpenAPI and the
                    readable page are made from it
    endpoint        the way of one request: who asks, what is asked, carry it out, wait until it is
                    durable, answer
    call, paging    what an operation sees and answers
    orders, instances, market, bills, events, webhooks, tenants, signin, monitoring
                    what is carried out, by noun

Nothing here decides anything about the market; that is the exchange's, behind the gateway.
"""
