"""Life for a sample market: three tenants that trade by themselves, and an operator's maps, all at
a pace at which prices can be watched.

The applications, adapters and maps are the real ones; what they would run is imitated here, with
time sped up: in a second of ours a minute of theirs passes.
`python -m laissez.live.sample URL KEYS` runs it beside a server; `laissez up` does that.
"""
