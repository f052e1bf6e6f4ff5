"""Workers: processes that drive the shards of runs together, on one host or on several."""
