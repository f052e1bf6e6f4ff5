"""What is checked, estimated and told before the first request of a run."""
