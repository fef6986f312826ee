"""Kills of a real server under load, and the comparison of all that anyone was told with what it
kept."""
