"""The REST API: bytes in, JSON out, over the one table of operations in `operations`.

    protocol        the HTTP/1.1 connection: parsing, deadlines, pipelining, backpressure, upgrades
    messages        a request, read strictly; the head of an answer
    app             routes, and what all requests share
    operations      what can be asked, by whom, and what is answered (a row is an `operation`);
                    routes, OpenAPI and the readable page are made from it
    endpoint        the way of one request: who asks, what is asked, carry it out, wait until it is
                    durable, answer
    orders, instances, market, bills, events, webhooks, tenants, monitoring
                    what is carried out and answered, by noun
    paging, cookies pages of lists; the cookie that stands for a key
    openapi, schemas, docs_page, static
                    the API's own documents; the console's files

Nothing here decides anything about the market; that is the exchange's, behind the gateway.
"""
