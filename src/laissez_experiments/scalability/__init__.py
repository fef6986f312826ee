"""The speed of the market and of the service, measured on this machine."""
