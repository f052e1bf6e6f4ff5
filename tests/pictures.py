"""Which pages of the console are pictured in `docs/`, and how the pictures are made again.

`FAILPROOF_PICTURES=write pytest tests/acceptance/console/test_walks.py -k pictures` writes them.

`docs/report.png` is the report of `failproof-es start quickstart` with the embedded model:
`failproof-es report latest -o report.html`, then `python -m tests.pictures report.html`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.browser import launched

WRITE = "FAILPROOF_PICTURES"
FOLDER = Path(__file__).parents[1] / "docs" / "reference" / "console"
WIDTH = 1280
PICTURED: dict[str, tuple[str, int]] = {
    "runs": ("/runs", 1000),
    "run": ("/runs/3", 1500),
    "results": ("/runs/3/results?status=failed&model=assistant-large", 1300),
    "matrix": ("BESIDE", 1300),
    "evaluation": ("JUDGED", 1500),
    "compare": ("/compare?base=2&other=3", 1300),
    "charts": ("/runs/4/charts", 1300),
    "trend": ("/runs/3/trend", 1100),
    "cost": ("/runs/3/cost", 1300),
    "event": ("PROVEN", 1300),
    "stream": ("STREAM", 900),
    "ledger": ("/ledger", 1300),
    "suites": ("/suites", 900),
    "cases": ("/cases?suite=refunds", 900),
    "case": ("CASE", 1300),
    "review": ("/review", 900),
    "agreement": ("/runs/6/agreement?one=jane&other=omar&on=items", 1300),
    "archive": ("/runs/7/archive", 1300),
    "search": ("/search?q=refunds", 1000),
}
"""The path of each page, and how many pixels of it are shown at most."""
REPORT = Path(__file__).parents[1] / "docs" / "report.png"


def picture_report(page: Path) -> None:
    """Write the picture of this report, an HTML file: its verdict and its failures."""
    with launched() as browser:
        tab = browser.new_page(viewport={"width": 1000, "height": 1000}, device_scale_factor=2)
        tab.goto(page.resolve().as_uri())
        height = tab.evaluate("document.getElementById('rates').getBoundingClientRect().top")
        tab.set_viewport_size({"width": 1000, "height": int(height)})
        tab.screenshot(path=REPORT)


if __name__ == "__main__":
    picture_report(Path(sys.argv[1]))
