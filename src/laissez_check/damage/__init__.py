"""Damaged data folders, and a start over each, which must lose nothing or refuse."""
