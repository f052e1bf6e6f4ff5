"""The page `docs/concepts/scale.md`, generated from what `python -m tests.benchmarks.scale` kept.

python -m tools.benchmarks_reference.scale > docs/concepts/scale.md

The files in `curves/` beside this module and the page are committed together. A size is taken from
the last file that measured it. What people wrote stands in `scale.md`; what follows from the
measured sizes by multiplication is computed here.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.benchmarks.measured import number
from tests.benchmarks.scale.__main__ import is_busy, table
from tools.benchmarks_reference.__main__ import HERE, committed

_ON_PAPER = 10**9
_NOT_YET = ["Not measured yet."]


def page(sittings: Sequence[Mapping[str, Any]], append_rate: float | None, template: str) -> str:
    """The page. `sittings` are the kept files, oldest first; `append_rate` in events a second."""
    found = {
        curve["cases"]: {**curve, "busy": is_busy(each)}
        for each in sittings
        for curve in each["curves"]
    }
    curves = [found[cases] for cases in sorted(found)]
    parts = {
        "sittings": [_sitting(each) for each in sittings] or _NOT_YET,
        "curves": table(curves) if curves else _NOT_YET,
        "paper": list(paper(curves, append_rate)) or _NOT_YET,
    }
    return re.sub(r"<!-- (\w+) -->", lambda part: "\n".join(parts[part[1]]), template)


def paper(curves: Sequence[Mapping[str, Any]], append_rate: float | None) -> Iterator[str]:
    """What the largest run that was measured to its end comes to, multiplied. Markdown."""
    whole = [each for each in curves if each["database_bytes"] and each["second_rate"]]
    if not whole:
        return
    curve = whole[-1]
    each_events = curve["events"] / curve["cases"]
    each_bytes = curve["database_bytes"] / curve["cases"]
    rate = None if curve.get("busy") else curve["second_rate"]
    by_rate = "" if rate is None else f", {number(rate)} evaluations a second"
    yield (
        f"By the run of {curve['cases']:,}: {number(each_events)} events and "
        f"{each_bytes:,.0f} bytes an evaluation{by_rate}."
    )
    yield (
        f"So {_ON_PAPER:,} evaluations are {number(_ON_PAPER * each_events / 1e9)} billion events "
        f"and {number(_ON_PAPER * each_bytes / 1e9)} GB."
    )
    if rate:
        yield f"They take {number(_ON_PAPER / rate / 86_400)} days at that rate."
    if append_rate:
        days = number(_ON_PAPER * each_events / append_rate / 86_400)
        yield f"One append, at {append_rate:,.0f} events/s, takes {days} days for them."


def _sitting(kept: Mapping[str, Any]) -> str:
    sizes = ", ".join(f"{curve['cases']:,}" for curve in kept["curves"])
    busy = " Other work was on the machine, so no times are told." if is_busy(kept) else ""
    return (
        f"- {kept['began']} to {kept['ended']}: {sizes}. Commit {kept['commit']}, "
        f"{kept['cores']} cores, Python {kept['python']}, {kept['connections']} requests in flight "
        f"for each worker, replies after {kept['latency_ms']:g} ms; load average "
        f"{kept['load']:.1f} at the begin and {kept['load_end']:.1f} at the end.{busy}"
    )


def kept() -> list[dict[str, Any]]:
    """The committed sittings, oldest first."""
    files = (HERE / "curves").glob("*.json")
    return sorted((json.loads(file.read_bytes()) for file in files), key=lambda each: each["began"])


def append_rate() -> float | None:
    """The events a second that one database took, in the newest committed sitting that says."""
    rates = [
        measured["median"]
        for result in (json.loads(file.read_bytes()) for file in committed())
        for row in result["rows"]
        if row["name"] == "append"
        for measured in row["measured"].values()
        if measured["median"]
    ]
    return rates[-1] if rates else None


def reference() -> str:
    """The page as it is to be committed."""
    return page(kept(), append_rate(), (HERE / "scale.md").read_text("utf-8"))


if __name__ == "__main__":
    sys.stdout.write(reference())
