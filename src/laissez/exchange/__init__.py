"""The exchange: the market with the accounts, keys, caps, budgets and webhooks around it.

`Exchange.apply(at, request) -> Applied` turns a request into events or a refusal, made of integers,
enums and names. Nothing here reads a clock, does I/O, draws random numbers or writes text for
people (`laissez.wire` does). The same requests at the same times give the same events, so the
journal can be replayed and compared.
"""
