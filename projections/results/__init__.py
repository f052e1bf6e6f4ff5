"""The tables of `run_results`, and how a batch of events changes them."""
