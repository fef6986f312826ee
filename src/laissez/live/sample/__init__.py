"""Activity for a sample market: three tenants that trade by themselves, and an operator's maps, at
a pace at which prices can be watched.

The applications, adapters and maps are the real ones. Their work is simulated, 60 times as fast as
real time. `python -m laissez.live.sample URL KEYS` runs it beside a server; `laissez up` does that.
"""
