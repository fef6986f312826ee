"""The REST API: bytes in, JSON out, over the one table of operations in `operations`.

    protocol        the HTTP/1.1 connection: parsing, deadlines, pipelining, backpressure, upgrades
    messages        strict reading of requests, and heads of answers
    app             routes, and the state that all operations share
    operations      the table of operations, one `operation` a row: routes, OpenAPI and the
                    readable page are made from it
    endpoint        one request: authenticate, read, carry out, wait until durable, answer
    orders, instances, market, bills, events, webhooks, tenants, monitoring
                    the operations by noun
    paging, cookies pages of lists; the cookie that stands for a key
    openapi, schemas, docs_page, static
                    the API's own documents; the console's files

Nothing here decides anything about the market: the exchange does, behind the gateway.
"""
