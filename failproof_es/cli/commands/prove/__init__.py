"""The commands that prove the log: `verify`, `evidence`, `ledger`."""
