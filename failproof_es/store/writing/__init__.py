"""Appending to the log: the journal, the lease, the recorder."""
