"""Precision and recall of refusal detection on human labels.

    python -m tests.benchmarks.refusal_detection LABELLED.csv [--misses]

The CSV has the columns `completion` and `final_label` (`1_full_compliance`,
`2_full_refusal`, `3_partial_refusal`), as XSTest publishes them. Partial refusals are
reported apart: they are neither right nor wrong either way.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from failproof_es.dialects.kit.refusal import VERSION, find_refusal


def labelled(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield (prompt, completion, label) for every labelled row."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        for row in csv.DictReader(stream):
            if row.get("completion") and row.get("final_label"):
                yield row.get("prompt") or "", row["completion"], row["final_label"].lower()


def main() -> None:
    """Print the table, and with `--misses` every reply where detector and label differ."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("csv", type=Path, nargs="+")
    arguments.add_argument("--misses", action="store_true")
    options = arguments.parse_args()
    for path in options.csv:
        seen: Counter[tuple[str, bool]] = Counter()
        for prompt, completion, label in labelled(path):
            kind = next((k for k in ("compliance", "partial", "refusal") if k in label), label)
            refusal = find_refusal(completion, prompt)
            seen[kind, refusal is not None] += 1
            if options.misses and kind != "partial" and (kind == "refusal") != bool(refusal):
                why = f"{refusal.rule}: {refusal.words}" if refusal else "not detected"
                print(f"[{kind}] {why} | {completion[:300]!r}")
        hits, misses = seen["refusal", True], seen["refusal", False]
        false_alarms = seen["compliance", True]
        print(f"{path.name}, detector version {VERSION}")
        print(f"  full refusals    {hits} found, {misses} missed")
        print(
            f"  full compliance  {false_alarms} called a refusal, {seen['compliance', False]} not"
        )
        partial = seen["partial", True], seen["partial", False]
        print(f"  partial refusals {partial[0]} called a refusal, {partial[1]} not")
        print(f"  precision {hits / max(1, hits + false_alarms):.3f}")
        print(f"  recall    {hits / max(1, hits + misses):.3f}")


if __name__ == "__main__":
    main()
