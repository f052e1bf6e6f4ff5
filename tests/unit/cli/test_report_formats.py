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
    ("form", "output", "slide", "message"),
    [
        (None, "a.pdf", False, "a report is not written as PDF (write it as .html, open that"),
        ("html", "a.pdf", False, "a report is not written as PDF"),
        (None, "a.pdf", True, "a slide is not written as PDF"),
        (None, "a.txt", False, "no format with the suffix .txt (use .html, .md, .json, .csv"),
        (None, "a.png", False, "no format with the suffix .png"),
        ("md", "a.html", False, "the suffix .html is not of --format md (leave out --format"),
        ("svg", None, False, "a report has no format svg (add --slide)"),
        ("json", None, True, "a slide has no format json (use png, svg, md)"),
        (None, "a.html", True, "a slide has no format with the suffix .html (use .png, .svg, .md"),
    ],
)
def test_a_format_that_is_not_there_is_refused(
    form: str | None, output: str | None, slide: bool, message: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        formats_of(form, output and Path(output), slide=slide)  # type: ignore[arg-type]
    assert message in str(refused.value)
