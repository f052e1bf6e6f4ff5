"""Which pages of the console are pictured in `docs/`, and how the pictures are made again.

`FAILPROOF_PICTURES=write pytest tests/acceptance/console/test_walks.py -k pictures` writes them.
"""

from __future__ import annotations

from pathlib import Path

WRITE = "FAILPROOF_PICTURES"
FOLDER = Path(__file__).parents[1] / "docs" / "reference" / "console"
WIDTH = 1280
PICTURED: dict[str, tuple[str, int]] = {
    "runs": ("/runs", 1000),
    "run": ("/runs/3", 1500),
    "results": ("/runs/3/results?status=failed&model=assistant-large", 1300),
    "evaluation": ("JUDGED", 1500),
    "compare": ("/compare?base=2&other=3", 1300),
    "charts": ("/runs/4/charts", 1300),
    "cost": ("/runs/3/cost", 1300),
    "event": ("PROVEN", 1300),
    "stream": ("STREAM", 900),
    "ledger": ("/ledger", 1300),
    "suites": ("/suites", 900),
    "cases": ("/cases?suite=refunds", 900),
    "case": ("CASE", 1300),
    "review": ("/review", 900),
    "archive": ("/runs/7/archive", 1300),
    "search": ("/search?q=refunds", 1000),
}
"""The path of each page, and how many pixels of it are shown at most."""
NOT_PICTURED = frozenset({"matrix", "trend"})
"""Pages whose pictures are still to be made."""
