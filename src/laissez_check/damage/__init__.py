"""Damage: data folders damaged in every way, and real writing on a disk with faults; then a start,
which must lose nothing or refuse."""
