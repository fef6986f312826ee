"""A disk with faults under SQLite and every other file: a model of the data that it has kept, and
of the effects of a crash on the rest."""
