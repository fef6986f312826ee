"""The common parts of all experiments: cells and the store of their results, runs of clouds,
claims, and the look of figures."""
