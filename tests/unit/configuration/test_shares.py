"""Shares of gates: numbers from 0 to 1, or percentages, under the names that people write."""

from __future__ import annotations

from pathlib import Path

import pytest

from failproof_es.configuration.gates_section import Gates
from failproof_es.configuration.loading import load_configuration
from failproof_es.problems import InvalidInput

HEAD = """\
test_run: {name: smoke}
models: [{provider: local, model: smollm2}]
prompts: {path: suites/}
"""


def gates(folder: Path, text: str) -> Gates:
    (folder / "run.yaml").write_text(f"{HEAD}gates: {text}\n")
    return load_configuration(folder / "run.yaml").configuration.gates


@pytest.mark.parametrize("share", ["95%", "'95 %'", "95.0%", "0.95", "'  95%'"])
@pytest.mark.parametrize("name", ["min_accuracy", "min_pass_rate"])
def test_a_share_in_per_cent_is_that_share_under_both_names(
    tmp_path: Path, name: str, share: str
) -> None:
    judged = gates(tmp_path, f"{{{name}: {share}}}")
    assert judged.min_accuracy == 0.95 and "min_pass_rate" not in judged.model_dump()


def test_every_share_may_be_in_per_cent_those_of_dialects_too(tmp_path: Path) -> None:
    text = "{max_unscored_rate: 5%, regression_margin: 1.5%, min_csr: 90%, "
    judged = gates(tmp_path, text + "min_accuracy_by_suite: {a: 29%}}")
    assert (judged.max_unscored_rate, judged.regression_margin) == (0.05, 0.015)
    assert judged.min_accuracy_by_suite == {"a": 0.29} and judged.declared() == {"min_csr": 0.9}


@pytest.mark.parametrize(
    ("text", "field", "words", "code"),
    [
        (
            "{min_pass_rate: 0.9, min_accuracy: 0.8}",
            "min_pass_rate",
            "another name of `min_acc",
            "options-conflict",
        ),
        ("{min_pass_rate: 105%}", "min_pass_rate", "less than or equal to 1", "out-of-range"),
        ("{min_csr: 101%}", "min_csr", "less than or equal to 1", "out-of-range"),
        ("{min_pass_rate: 95}", "min_pass_rate", "write 0.95", "out-of-range"),
        ("{min_accuracy: -5%}", "min_accuracy", "valid number", "wrong-type"),
        (
            "{min_pass_rates: 0.9}",
            "min_pass_rates",
            "did you mean `min_pass_rate`?",
            "unknown-field",
        ),
    ],
)
def test_another_value_is_refused_at_its_line(
    tmp_path: Path, text: str, field: str, words: str, code: str
) -> None:
    with pytest.raises(InvalidInput) as raised:
        gates(tmp_path, text)
    (problem,) = raised.value.problems
    assert (problem.line, problem.field) == (4, f"gates.{field}") and words in str(problem)
    assert problem.code == code
