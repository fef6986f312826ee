"""WebSocket sessions: the connection, the session on it, and the set of all sessions."""
