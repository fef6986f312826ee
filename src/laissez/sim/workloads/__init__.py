"""Who the tenants of a run are and what they are asked to do: plain data, drawn from a seed or read
from traces."""
