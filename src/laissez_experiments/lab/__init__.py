"""What all experiments share: cells and where their results are kept, runs of clouds, claims, and
how figures look."""
