"""The true course of services, training jobs and batches on the nodes they are given. Worlds know
neither prices nor clouds."""
