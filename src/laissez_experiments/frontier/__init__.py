"""Cost against performance: what a tenant can choose between spot and on demand."""
