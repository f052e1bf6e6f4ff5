"""How often each interval that the product prints covers the truth: simulated, over a stated grid.

`python -m tests.coverage` draws every setting of the grid and writes the table into
`docs/reference/coverage.md`; `tests/unit/support/test_coverage.py` draws a part of it.
"""
