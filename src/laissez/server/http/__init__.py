"""The REST API: requests in, JSON out, over the one table of operations in `operations`.

    operations      what can be asked, by whom, and what is answered; routes, OpenAPI and the
                    readable page are made from it
    endpoint        the way of one request: who asks, what is asked, carry it out, wait until it is
                    durable, answer
    call, incoming, outgoing, paging    the parts of that way
    orders, leases, instances, prices, bills, events, market, tenants, health
                    what is carried out, by noun

Nothing here decides anything about the market; that is the exchange's, behind the desk.
"""
