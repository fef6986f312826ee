"""The policies of tenants and operators, run against a real server.

The policies of `laissez.tenants` and `laissez.operators` are pure. This package adds a clock, a
connection, a memory that survives a restart, and the user's command lines. Each runner is a loop:
look, let the policy decide, send its commands.
"""
