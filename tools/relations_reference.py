"""The page `docs/reference/relations.md`, generated from the catalogue.

python -m tools.relations_reference > docs/reference/relations.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from failproof_es.catalogue.result import RecordedResult
from failproof_es.support.columns import columns_of

_INTRODUCTION = """\
# Results, column by column

<!-- Generated: python -m tools.relations_reference > docs/reference/relations.md -->

A row of the [CSV export](../how-to/export.md), a row of a
[data frame](../how-to/notebooks.md) and a `RecordedResult` in Python have these columns. In Python
`class` is `class_`.

- Times are in UTC. A cell without a value is empty.
- `texts` is a list of texts. CSV has it as JSON.
- `numbers` maps names to numbers. CSV has it as JSON, a data frame has a column `score:NAME` for
  each name.
"""


def reference() -> str:
    """The whole page."""
    return "\n".join([_INTRODUCTION, *_table()]) + "\n"


def _table() -> Iterator[str]:
    yield "| column | type | meaning |"
    yield "|---|---|---|"
    for column in columns_of(RecordedResult):
        yield f"| `{column.name}` | {column.kind} | {column.description} |"


if __name__ == "__main__":
    sys.stdout.write(reference())
