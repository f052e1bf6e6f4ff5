"""`watch`: a small run at every change of a configuration or of its suites."""
