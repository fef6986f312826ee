"""Bills worked out again from the journal alone, by code that shares nothing with the market, and
compared with what the service says."""
