"""The suffix of the file decides the format of a report; a contradiction is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from failproof_es.cli.commands.report import formats_of
from failproof_es.problems import InvalidInput


@pytest.mark.parametrize(
    ("form", "output", "slide", "formats"),
    [
        (None, None, False, ("html",)),
        (None, "-", False, ("html",)),
        (None, "a", False, ("html",)),
        (None, "a.b/c.HTM", False, ("html",)),
        (None, "a.markdown", False, ("md",)),
        (None, "a.json", False, ("json",)),
        ("csv", "a.csv", False, ("csv",)),
        ("md", "a.txt", False, ("md",)),
        (None, None, True, ("png", "svg", "md")),
        (None, "-", True, ("md",)),
        (None, "a.svg", True, ("svg",)),
        ("png", None, True, ("png",)),
    ],
)
def test_the_suffix_decides(
    form: str | None, output: str | None, slide: bool, formats: tuple[str, ...]
) -> None:
    assert formats_of(form, output and Path(output), slide=slide) == formats  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("form", "output", "slide", "code"),
    [
        (None, "a.pdf", False, "unsupported-format"),
        ("html", "a.pdf", False, "unsupported-format"),
        (None, "a.pdf", True, "unsupported-format"),
        (None, "a.txt", False, "unsupported-format"),
        (None, "a.png", False, "unsupported-format"),
        ("md", "a.html", False, "options-conflict"),
        ("svg", None, False, "unsupported-format"),
        ("json", None, True, "unsupported-format"),
        (None, "a.html", True, "unsupported-format"),
    ],
)
def test_a_format_that_is_not_there_is_refused(
    form: str | None, output: str | None, slide: bool, code: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        formats_of(form, output and Path(output), slide=slide)  # type: ignore[arg-type]
    assert [problem.code for problem in refused.value.problems] == [code]
