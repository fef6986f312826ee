"""Attacks on a real server over the wire: bad inputs by hand, and requests made from the OpenAPI
document."""
