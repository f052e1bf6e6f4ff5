"""The cutting of a run into shards, and the decisions of the workers that drive them. Pure."""
