"""Two applications on three machines, under each contract."""
