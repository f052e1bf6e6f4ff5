"""How a run ends: the final pass over its record, validation, gates, the seal."""
