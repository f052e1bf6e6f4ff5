"""Live progress fits the terminal it is shown on, without cutting a number off."""

from __future__ import annotations

import io

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from failproof_es.cli.progress.live_table import LiveProgress, progress_view
from failproof_es.cli.progress.state import ProgressState
from tests.every import every
from tests.unit.cli.samples import abandoned, classified, failed, scored, sent, started

WIDTHS = (20, 40, 59, 60, 61, 79, 80, 100, 120, 121, 200)


def shown(state: ProgressState, width: int, *, verbose: bool = True) -> str:
    file = io.StringIO()
    console = Console(file=file, width=width, highlight=False, force_terminal=True)
    console.print(progress_view(state, width, verbose=verbose))
    return Text.from_ansi(file.getvalue()).plain


def a_run(*models: str) -> ProgressState:
    state = ProgressState()
    state.observe(started(*models, planned=1000 * len(models)))
    for model in models:
        for event in (
            sent(1, model), failed(1, model), sent(1, model, attempt=2), scored(1, 1, model),
            classified(2, "refusal", model), abandoned(3, model),
        ):  # fmt: skip
            state.observe(event)
    return state


@every("width", WIDTHS)
def test_progress_shows_every_number_whole_on_a_terminal_of_any_width(width: int) -> None:
    text = shown(a_run("a"), width)
    assert all(len(line) <= width for line in text.splitlines())
    said = " ".join(text.split())
    assert "2 of 1,000 (0 %)" in said
    assert "2/1,000 0 %" in said
    for fact in ("passed", "refused", "unscored", "lost", "retries", "in flight"):
        assert fact in said
    assert "1 (50.0 %)" in said


def test_what_matters_fits_into_80_columns_beside_the_bar() -> None:
    heading, names, model = shown(a_run("a"), 80, verbose=False).splitlines()[:3]
    assert heading.startswith("run 3 smoke: 2 of 1,000 (0 %), ")
    assert names.split() == ["model", "done", "passed", "unscored", "rate/s", "left"]
    assert model.split()[-6:] == ["%", "1", "1", "(50.0", "%)", "-"] or "1 (50.0 %)" in model


@every(("width", "lines_of_a_model"), [(60, 3), (160, 1)])
def test_each_model_has_a_bar_and_all_together_one(width: int, lines_of_a_model: int) -> None:
    text = shown(a_run("one", "another"), width)
    bars = [line for line in text.splitlines() if "━" in line]
    assert [line.split()[0] for line in bars] == ["one", "another", "total"]
    assert "4/2,000 0 %" in bars[-1]
    lines = text.splitlines()
    first, second = (lines.index(bar) for bar in bars[:2])
    assert second - first <= lines_of_a_model


def test_before_there_is_a_run_it_says_what_it_does() -> None:
    assert shown(ProgressState(), 60) == "new run: checking cases and models, 0:00 elapsed\n"


@every("width", WIDTHS)
@every("name", ["m" * 300, "模" * 50, "\x1b[2J"])
def test_a_name_or_message_of_any_length_and_kind_breaks_nothing(width: int, name: str) -> None:
    state = a_run(name)
    state.observe(failed(4, name).model_copy(update={"message": "e\x1b[2J\u202e" * 100}))
    text = shown(state, width)
    assert all(cell_len(line) <= width for line in text.splitlines())
    assert "\x1b" not in text and "\u202e" not in text
    assert "2/1,000" in text


def test_a_terminal_keeps_nothing_of_a_run_that_was_never_ours() -> None:
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=80, legacy_windows=False)
    with LiveProgress(ProgressState(), console):
        pass
    _, erased, rest = file.getvalue().rpartition("\x1b[2K")
    assert erased and "new run" not in rest
