"""Groups the records of Every Eval Ever by answer.

A sample with several results, for example of several scorers, has one record for each result: the
records differ only in the fields of the result.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from failproof_es.recorded_runs.json_files import load_json_lines
from failproof_es.recorded_runs.json_values import Json, object_of, text_of
from failproof_es.recorded_runs.plain import digest_of, plain_value
from failproof_es.recorded_runs.records import Remainder

_RESULT_FIELDS = frozenset({"evaluation_result_id", "evaluation", "answer_attribution"})


class RecordedSample(NamedTuple):
    """One answer: its first record, and the `evaluation` of each of its records."""

    line: int
    record: Json
    evaluations: dict[str, Json]
    """Each `evaluation` by its `evaluation_result_id`."""

    @property
    def place(self) -> str:
        """The line of the answer's first record."""
        return f"line {self.line}"


def read_samples(path: Path, remainder: Remainder) -> Iterator[RecordedSample]:
    """Yield the answers in the order of their first records.

    Lines that are no object are listed in `remainder`. Raises `InvalidInput` if a line is not JSON
    or is too long.
    """
    evaluations: dict[int, dict[str, Json]] = defaultdict(dict)
    first_lines: dict[tuple[str, int], int] = {}
    stood: Counter[tuple[str, str]] = Counter()
    for number, line in load_json_lines(path):
        record = object_of(line)
        if not record:
            remainder.add("a line that is no object", "nothing can be read of it", f"line {number}")
            continue
        result = text_of(record.get("evaluation_result_id"), Remainder(), "") or ""
        rest = {name: value for name, value in record.items() if name not in _RESULT_FIELDS}
        same = digest_of(plain_value(rest, Remainder(), ""))
        # A repeated record with the same result id is another answer with the same content.
        before = stood[same, result]
        stood[same, result] += 1
        first = first_lines.setdefault((same, before), number)
        evaluations[first][result] = object_of(record.get("evaluation"))
    del first_lines, stood
    for number, line in load_json_lines(path):
        if number in evaluations:
            yield RecordedSample(number, object_of(line), evaluations[number])
