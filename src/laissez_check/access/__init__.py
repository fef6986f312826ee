"""Access: a table of operations and callers, and pairs of markets
that must look alike to a tenant."""
