"""Relations between runs: attempts, branches, comparisons."""
