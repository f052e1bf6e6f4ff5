"""The page `docs/reference/run-document.md`, generated from the document's own types.

python -m tools.run_reference > docs/reference/run-document.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from failproof_es.assurance.protection_status import ProtectionStatus
from failproof_es.catalogue import pass_rate, run
from failproof_es.engine.related_runs import attempts
from failproof_es.engine.workers import presence
from failproof_es.reading import as_of, people_figures, workers
from tools.schema_tables import documented_fields, prose, table

_INTRODUCTION = """\
# A run as JSON

<!-- Generated: python -m tools.run_reference > docs/reference/run-document.md -->

`failproof-es show RUN --json` prints this object, the [console](../how-to/console.md) has it at
`/runs/RUN.json`, `OpenedRun.document` is it in [Python](../how-to/notebooks.md), and a
[report](report-json.md) has it as `run` of each run. Rates are from 0 to 1, costs in US dollars,
times in milliseconds where the name ends in `_ms`, dates in UTC. What is not known, or does not
apply, is `null`.
"""
_MODULES = (run, pass_rate, attempts, presence, people_figures, as_of, workers)


def reference() -> str:
    """The whole page."""
    return "\n".join([_INTRODUCTION, *_sections()]).replace("`None`", "`null`") + "\n"


def _sections() -> Iterator[str]:
    whole = run.RunDocument.model_json_schema(mode="serialization")
    yield f"## The run\n\n{prose(whole['description'])}\n"
    yield from table(whole, documented_fields(run.RunDocument))
    yield "\n## Objects inside it"
    for name, part in whole["$defs"].items():
        if "properties" not in part:
            continue
        yield f"\n### {name}\n\n{prose(part.get('description', ''))}\n"
        yield from table(part, _meanings(name))


def _meanings(name: str) -> dict[str, str]:
    """The docstrings of the fields of one of the document's classes; of an event's class none."""
    if name == ProtectionStatus.__name__:
        return documented_fields(ProtectionStatus)
    for module in _MODULES:
        declared = vars(module).get(name)
        if isinstance(declared, type) and declared.__module__ == module.__name__:
            return documented_fields(declared)
    return {}


if __name__ == "__main__":
    sys.stdout.write(reference())
