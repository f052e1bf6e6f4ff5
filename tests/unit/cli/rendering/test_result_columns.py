"""The names of `--columns` and `--sort`."""

from __future__ import annotations

import pytest

from failproof_es.catalogue.result import RecordedResult
from failproof_es.cli.rendering.result_columns import (
    COLUMNS,
    ResultOrder,
    named_columns,
    named_order,
    usual_columns,
)
from failproof_es.problems import InvalidInput
from failproof_es.support.columns import columns_of


def test_every_column_of_the_relation_has_a_name_and_the_one_of_a_file_means_it_too() -> None:
    names = [column.name for column in columns_of(RecordedResult)]
    assert len(COLUMNS) == len(names)
    assert named_columns(", ".join(names)) == tuple(COLUMNS)


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("case", ResultOrder("case")),
        ("case_id", ResultOrder("case")),
        ("-latency_ms", ResultOrder("latency_ms", is_descending=True)),
        ("-reason", ResultOrder("why", is_descending=True)),
    ],
)
def test_an_order_is_a_column_and_a_direction(text: str, order: ResultOrder) -> None:
    assert named_order(text) == order


@pytest.mark.parametrize("text", ["", "-", "--case", "case,nothing", "Case"])
def test_other_names_are_refused_with_those_that_there_are(text: str) -> None:
    for read in (named_columns, named_order):
        with pytest.raises(InvalidInput) as error:
            read(text)
        assert "name some of: run_number, run_id" in str(error.value)


@pytest.mark.parametrize("names", ["case,class,accuracy,question", "case,accuracy", "accuracy,why"])
def test_numbers_of_scorers_stand_beside_the_accuracy_whatever_columns_there_are(
    names: str,
) -> None:
    keys = [column.key for column in usual_columns(names.split(","), has_scorers=True)]
    assert ",".join(keys) == names.replace("accuracy", "accuracy,added")
