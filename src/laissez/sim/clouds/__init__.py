"""The clouds that are compared, behind one interface: the market; first come, first served, with
and without preemption; and one that knows everything."""
