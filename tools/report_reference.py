"""The page `docs/reference/report-json.md`, generated from the JSON Schema of a report.

python -m tools.report_reference > docs/reference/report-json.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from tools.report_schema import schema
from tools.schema_tables import prose, table

_INTRODUCTION = """\
# Reports as JSON

<!-- Generated: python -m tools.report_reference > docs/reference/report-json.md -->

`failproof-es report RUN --format json` writes one JSON object. [A JSON Schema](report.schema.json)
describes it. [Reports](report.md#every-number) says what each number means. Rates are from 0 to 1,
costs in US dollars, times in milliseconds where the name ends in `_ms`.
"""


def reference() -> str:
    """The whole page."""
    return "\n".join([_INTRODUCTION, *_sections()]) + "\n"


def _sections() -> Iterator[str]:
    whole = schema()
    yield f"## The report\n\n{prose(whole['description'])}\n"
    yield from table(whole, {})
    yield "\n## Objects inside it"
    for name, part in whole["$defs"].items():
        yield f"\n### {name}\n\n{prose(part.get('description', ''))}\n"
        yield from table(part, {})


if __name__ == "__main__":
    sys.stdout.write(reference())
