"""One batch that follows prices: to cheaper hardware, to a pause, and back."""
