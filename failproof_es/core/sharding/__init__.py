"""How a run is cut into shards, and what the workers that drive them decide. Pure."""
