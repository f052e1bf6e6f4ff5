"""`verify --tables`: a table that is only behind is no change, and a change has a remedy."""

from __future__ import annotations

from decimal import Decimal

import pytest

from failproof_es.cli.app.errors import ExitCode
from failproof_es.cli.commands.prove.verify import exit_code_of_rows
from failproof_es.cli.rendering.compared_rows import print_comparison, rows_document
from projections.log_comparison import ChangedRow, RowComparison

_CHANGED = ChangedRow("projections.runs", {}, None, {})


@pytest.mark.parametrize(
    ("comparison", "code"),
    [
        (None, ExitCode.FAILED),
        (RowComparison(), ExitCode.DONE),
        (RowComparison(behind=["audit_trail"]), ExitCode.NOT_PROVEN_YET),
        (RowComparison(behind=["audit_trail"], changed=[_CHANGED]), ExitCode.FAILED),
    ],
)
def test_only_changed_rows_fail(comparison: RowComparison | None, code: ExitCode) -> None:
    assert exit_code_of_rows(comparison) is code


@pytest.mark.parametrize(
    ("comparison", "log_is_genuine", "remedy"),
    [
        (RowComparison(changed=[_CHANGED]), True, "`failproof-es projections rebuild` makes"),
        (RowComparison(not_as_installed=["a policy"]), True, "`failproof-es projections rebuild`"),
        (RowComparison(changed=[_CHANGED]), False, "do not rebuild these rows"),
        (RowComparison(), True, None),
    ],
)
def test_the_table_and_json_have_the_same_remedy(
    comparison: RowComparison,
    log_is_genuine: bool,
    remedy: str | None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_comparison(comparison, log_is_genuine=log_is_genuine)
    document = rows_document(comparison, log_is_genuine=log_is_genuine)
    printed = capsys.readouterr()
    assert document is not None
    if remedy is None:
        assert document["remedy"] is None and printed.err == ""
    else:
        assert remedy in document["remedy"] and remedy in " ".join(printed.err.split())
    assert log_is_genuine or "row of a read model differs from the log" in printed.out


def test_columns_and_both_values_are_fields() -> None:
    row = ChangedRow(
        "projections.evaluations",
        {"run": 1},
        {"passed": True, "accuracy": Decimal("0.50"), "class": "pass", "n": 10**30},
        {"passed": False, "accuracy": Decimal("0.5"), "class": "fail", "n": [10**30]},
    )
    document = rows_document(RowComparison(changed=[row]), log_is_genuine=True)
    assert document is not None
    assert document["changed"][0]["columns"] == {
        "passed": {"in_table": True, "by_log": False},
        "class": {"in_table": "pass", "by_log": "fail"},
        "n": {"in_table": str(10**30), "by_log": f"[{10**30}]"},
    }
