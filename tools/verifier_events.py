"""The verifier of bundles with its tables of events: it imports nothing of this program.

`python -m tools.verifier_events` writes them anew in `docs/reference/verify_evidence.py`.
"""

from __future__ import annotations

import re
from pathlib import Path

from failproof_es.events import COUNTED, OWN_ENDINGS, RUN_ENDINGS, RUN_STATUS, topics

VERIFIER = Path(__file__).parents[1] / "docs/reference/verify_evidence.py"
_TOPICS = {"ENDINGS": RUN_ENDINGS, "WITH_COUNTS": COUNTED, "FINAL": OWN_ENDINGS}
_TABLE = re.compile(r"^RUN_EVENTS: .*?^}$", re.MULTILINE | re.DOTALL)


def verifier() -> str:
    """The text of the verifier, with the events that there are now."""
    rows = [f'    "{topic}": {_status(topic)},\n' for topic in topics("run")]
    table = "RUN_EVENTS: dict[str, str | None] = {\n" + "".join(rows) + "}"
    text = _TABLE.sub(table, VERIFIER.read_text("utf-8"), count=1)
    for name, names in _TOPICS.items():
        line = ", ".join(f'"{topic}"' for topic in names)
        text = re.sub(
            rf"^{name} = \(.*\)$", f"{name} = ({line})", text, count=1, flags=re.MULTILINE
        )
    return text


def _status(topic: str) -> str:
    status = RUN_STATUS.get(topic)
    return "None" if status is None else f'"{status}"'


if __name__ == "__main__":
    VERIFIER.write_text(verifier(), "utf-8")
