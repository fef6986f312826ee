"""WebSocket sessions: the connection, the session on it, and what waits to be heard."""
