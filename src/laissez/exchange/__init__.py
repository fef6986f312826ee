"""The exchange: the market with the accounts, keys, caps, budgets and webhooks around it.

A request goes in, events or a refusal come out: `Exchange.apply(at, request) -> Applied`. All of it
is integers, enums and names. Nothing here reads a clock, does I/O, draws random numbers or makes
text for people; `laissez.wire` does that. The same requests at the same times give the same
events, so the journal can be replayed and compared.
"""
