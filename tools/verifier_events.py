"""The verifier of bundles with its table of a run's events: it imports nothing of this program.

`python -m tools.verifier_events` writes it anew in `docs/reference/verify_evidence.py`.
"""

from __future__ import annotations

import re
from pathlib import Path

from failproof_es.events import RUN_STATUS, topics

VERIFIER = Path(__file__).parents[1] / "docs/reference/verify_evidence.py"
_TABLE = re.compile(r"^RUN_EVENTS: .*?^}$", re.MULTILINE | re.DOTALL)


def verifier() -> str:
    """The text of the verifier, with the events that there are now."""
    rows = [f'    "{topic}": {_status(topic)},\n' for topic in topics("run")]
    table = "RUN_EVENTS: dict[str, str | None] = {\n" + "".join(rows) + "}"
    return _TABLE.sub(table, VERIFIER.read_text("utf-8"), count=1)


def _status(topic: str) -> str:
    status = RUN_STATUS.get(topic)
    return "None" if status is None else f'"{status}"'


if __name__ == "__main__":
    VERIFIER.write_text(verifier(), "utf-8")
