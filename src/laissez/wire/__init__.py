"""The words of the public API: what travels between the service and whoever speaks to it, and how
it looks there.

Structs, ids, times and error codes; no I/O and no decisions. The service and the client both build
on it, so neither imports the other. Money is decimal text in dollars per hour, times are RFC 3339
text in UTC, ids are opaque text with a prefix that says what they name.
"""
