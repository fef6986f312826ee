"""Training jobs that bid for places, and jobs that do not."""
