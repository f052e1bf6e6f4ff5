"""Which records of Every Eval Ever are of one and the same answer.

A sample that counts in several results, such as of several scorers, stands once for each of them:
the records differ in what they say of the result, and in nothing else.
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

_OF_THE_RESULT = frozenset({"evaluation_result_id", "evaluation", "answer_attribution"})


class RecordedSample(NamedTuple):
    """One answer: its first record, and what each of its records says of its result."""

    line: int
    record: Json
    evaluations: dict[str, Json]
    """By the id of the result."""

    @property
    def place(self) -> str:
        """Where it stands."""
        return f"line {self.line}"


def read_samples(path: Path, remainder: Remainder) -> Iterator[RecordedSample]:
    """The answers in the order of their first records. Raises `InvalidInput`."""
    evaluations: dict[int, dict[str, Json]] = defaultdict(dict)
    first_lines: dict[tuple[str, int], int] = {}
    stood: Counter[tuple[str, str]] = Counter()
    for number, line in load_json_lines(path):
        record = object_of(line)
        if not record:
            remainder.add("a line that is no object", "nothing can be read of it", f"line {number}")
            continue
        result = text_of(record.get("evaluation_result_id"), Remainder(), "") or ""
        rest = {name: value for name, value in record.items() if name not in _OF_THE_RESULT}
        same = digest_of(plain_value(rest, Remainder(), ""))
        # The same result of the same content once more is another answer, which happens to agree.
        before = stood[same, result]
        stood[same, result] += 1
        first = first_lines.setdefault((same, before), number)
        evaluations[first][result] = object_of(record.get("evaluation"))
    del first_lines, stood
    for number, line in load_json_lines(path):
        if number in evaluations:
            yield RecordedSample(number, object_of(line), evaluations[number])
