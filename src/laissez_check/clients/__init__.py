"""The clients of simulated worlds and crash tests: they trade over REST and in sessions, note all
that they are told, and compare it with the journal and with an audit of the operator's events."""
