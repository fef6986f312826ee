"""How many requests the market and the service take, and how fast."""
