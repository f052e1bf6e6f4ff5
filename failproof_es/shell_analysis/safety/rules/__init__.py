"""The safety rules: one module for each kind of harm."""
