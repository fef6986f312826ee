"""The public API's data: structs, ids, times and error codes. No I/O and no decisions.

The service and the client both build on this package, so neither imports the other. Money is
decimal text in dollars per hour, times are RFC 3339 text in UTC, ids are opaque text with a prefix
for their kind.
"""
