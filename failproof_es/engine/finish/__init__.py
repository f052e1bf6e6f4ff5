"""How a run ends: the final pass over its events, validation, gates, the seal."""
