"""A row short of power, priced so that tenants leave it."""
