"""The page of benchmarks, from what `make benchmarks` kept and what people wrote of it."""
