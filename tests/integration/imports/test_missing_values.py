"""NaN in a Parquet file is nothing, and not a text."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.importers.reading import read

COLUMNS = {"prompt": "q", "expected": "a"}


def test_nan_of_a_data_frame_is_nothing_and_drops_no_case(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "cases.parquet"
    nan = float("nan")
    columns = {"q": ["One?", "Two?", "Three?"], "a": [3.0, nan, 4.5], "t": [nan, nan, nan]}
    parquet.write_table(pyarrow.table(columns), file)
    found = read("parquet", file, columns={**COLUMNS, "tags": "t"})
    assert [case.turns[-1].content for case in found.cases] == ["One?", "Three?"]
    assert any("the expected answer is missing" in line for line in found.lost)
    assert sum("the tags is no number (NaN)" in line for line in found.lost) == 3
    assert sum("whole number with a point" in line for line in found.lost) == 1
