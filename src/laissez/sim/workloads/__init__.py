"""The tenants of a run and their work: plain data, drawn from a seed or read from traces."""
