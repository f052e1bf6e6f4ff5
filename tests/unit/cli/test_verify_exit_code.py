"""The exit code of `verify --tables`: a table that is only behind is no change."""

from __future__ import annotations

import pytest

from failproof_es.cli.app.errors import ExitCode
from failproof_es.cli.commands.prove.verify import exit_code_of_rows
from projections.comparison import ChangedRow, RowComparison

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
