"""What other runs have to do with a run: attempts, branches, comparisons."""
