"""The wire: bad inputs written by hand, and requests made from the OpenAPI document, against a real
server."""
