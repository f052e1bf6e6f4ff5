"""What the program is to reach: a module for each part of the table of benchmarks."""
