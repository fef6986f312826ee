"""A disk with faults, under SQLite and under every other file: what it has really kept, and what a
crash makes of the rest."""
