"""The audit log: requests refused before the journal, a daily digest of journal and log, and one
view of both.

Mutations, and refusals of the exchange, are in the journal and are not logged a second time.
`docs/reference/audit.md` has the format and what it proves.
"""
