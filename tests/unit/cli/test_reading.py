"""Where a run is read from is said when it is not what was meant, and once."""

from __future__ import annotations

from typing import Any, cast

import click
import pytest

from failproof_es.cli.app.chosen_run import say_warning
from failproof_es.reading.log import LogReader
from failproof_es.reading.result_reader import ResultReader


def reader(warning: str | None) -> ResultReader:
    return LogReader(cast(Any, None), warning=warning)


def test_why_the_log_is_read_is_said_once_in_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    with click.Context(click.Command("show")):
        for why in ("the projections are behind", None, "the projections are behind", "other"):
            say_warning(reader(why))
    shown = capsys.readouterr()
    assert shown.err == "warning: the projections are behind\nwarning: other\n"
    assert shown.out == ""
    with click.Context(click.Command("show")):
        say_warning(reader("other"))
    assert capsys.readouterr().err == "warning: other\n", "another command says it anew"
