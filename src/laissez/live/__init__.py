"""The policies of tenants and operators, run against a real server.

Here belongs what the pure policies of `laissez.tenants` and `laissez.operators` lack: a clock, a
connection, a memory that survives a restart, and the command lines of the user. Each runner does
the same in a circle: look, let the policy decide, send what it says.
"""
