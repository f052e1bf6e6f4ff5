"""Archives old runs: takes what happened in a run out of the log into a verified file, and back."""
