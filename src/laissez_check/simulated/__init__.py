"""Simulated worlds: the real service and its real clients in one thread, on a disk, a network and a
clock that one seed controls.

The fake edges, the machine that crashes and starts again, and the promises belong here. Everything
that the service or its clients do is the real code.
"""
