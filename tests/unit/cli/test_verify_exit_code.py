"""`verify --tables`: a table that is only behind is no change, and a change has a remedy."""

from __future__ import annotations

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
    ("comparison", "has_remedy"),
    [
        (RowComparison(changed=[_CHANGED]), True),
        (RowComparison(not_as_installed=["a policy"]), True),
        (RowComparison(), False),
    ],
)
def test_the_table_and_json_have_the_same_remedy(
    comparison: RowComparison, has_remedy: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    print_comparison(comparison)
    document = rows_document(comparison)
    assert document is not None and (document["remedy"] is not None) is has_remedy
    assert ("`failproof-es projections rebuild`" in capsys.readouterr().err) is has_remedy
