"""Live progress fits the terminal it is shown on, without cutting a number off."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from failproof_es.cli.progress import fitting
from failproof_es.cli.progress_state import ProgressState
from tests.unit.cli.samples import scored, sent, started


@pytest.mark.parametrize(("width", "headed"), [(200, True), (80, True), (40, False)])
def test_progress_shows_every_number_whole_on_a_terminal_of_any_width(
    width: int, headed: bool
) -> None:
    state = ProgressState()
    for event in (started("a", planned=1000), sent(1), scored(1, 1)):
        state.observe(event)
    shown = io.StringIO()
    console = Console(file=shown, width=width, highlight=False)
    console.print(fitting(state, console))
    text = shown.getvalue()
    assert "1/1000" in text and "…" not in text
    assert all(len(line) <= width for line in text.splitlines())
    assert ("retries" in text.splitlines()[2]) == headed
    assert ("retries 0" in " ".join(text.split())) == (not headed)
