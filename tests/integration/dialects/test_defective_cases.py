"""However many defects a case has and wherever they stand in it, it is one case."""

from __future__ import annotations

from pathlib import Path

import pytest

from failproof_es.dialects import dialect_named
from failproof_es.engine.planning.planner import skipped_lines
from failproof_es.problems import Problems

TASK = "- task_id: {id}\n  question: 5\n  expected_answer:\n    most_expected: 5\n"
RED_TEAM = "- id: {id}\n  title: 5\n  turns:\n    - role: nobody\n      content: 5\n"
COMMAND = '[[test_cases]]\nid = "{id}"\nprompt = 5\n\n'
VERSION = 'version = "1.0.0"\n'
JSON_LINE = '{{"case_id": "{id}", "suite_id": 5, "prompt": 5}}\n'
TASK_DOCUMENT = "task_id: {id}\nquestion: 5\nexpected_answer: 5\n"


@pytest.mark.parametrize(
    ("dialect", "name", "written", "cases"),
    [
        ("benchmark", "tasks.yaml", TASK, 2),
        ("benchmark", "task.yaml", TASK_DOCUMENT, 1),
        ("redteam", "cases.yaml", RED_TEAM, 2),
        ("command", "dataset.toml", COMMAND, 2),
        ("failproof", "suite.jsonl", JSON_LINE, 2),
    ],
)
def test_the_defects_of_one_case_are_told_of_one_case(
    dialect: str, name: str, written: str, cases: int, tmp_path: Path
) -> None:
    text = (VERSION if dialect == "command" else "") + "".join(
        written.format(id=f"c-{n}") for n in range(cases)
    )
    (tmp_path / name).write_text(text)
    problems = Problems()
    assert list(dialect_named(dialect).load([tmp_path / name], problems)) == []
    assert len(problems.errors) >= 2 * cases, [str(each) for each in problems.errors]
    first, *defects = skipped_lines(problems.errors)
    plural = "case" if cases == 1 else "cases"
    assert first == f"skipped: {cases} {plural} with {len(problems.errors)} defects"
    assert len(defects) == len(problems.errors)
