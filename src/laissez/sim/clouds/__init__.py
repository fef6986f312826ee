"""The clouds that are compared, behind one interface: the market, first come first served (also
with preemption), and one that knows everything."""
