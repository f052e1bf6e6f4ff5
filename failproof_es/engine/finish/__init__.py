"""The end of a run: the final pass over its events, validation, gates, the seal."""
