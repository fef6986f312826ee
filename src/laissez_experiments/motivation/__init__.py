"""Two applications and three machines: what each contract makes of them."""
