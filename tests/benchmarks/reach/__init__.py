"""What the program is to reach: one module for each part of the table in docs/reference/benchmarks.md."""
