"""Ten thousand nodes and a thousand tenants, end to end."""
