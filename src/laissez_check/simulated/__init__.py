"""Simulated worlds: the real service and its real clients in one thread, on a disk, a network and a
clock that one seed decides about.

What belongs here: the fake edges, the machine that crashes and starts again, the clients that live
in a world, and what is asked of it. What does not: anything that the service or its clients do;
that is the real code.
"""
