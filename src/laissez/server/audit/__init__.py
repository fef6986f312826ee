"""The audit log: what was refused before it reached the journal, a digest of every day over both,
and one view of all that was done and refused.

Mutations, and what the exchange itself refused, are in the journal, durable before anybody hears of
them, and are not written a second time. `docs/audit.md` has the format and what it proves.
"""
