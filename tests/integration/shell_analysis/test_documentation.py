"""What the documents show of the shell library is what it does."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from failproof_es import shell_analysis

DOCS = Path(__file__).parents[3] / "docs"
PAGES = (
    "reference/command-posix.md",
    "reference/command-equivalence.md",
    "reference/command-safety.md",
    "how-to/command-evaluation.md",
)


def blocks(page: str) -> list[str]:
    text = (DOCS / page).read_text("utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_every_line_of_the_librarys_page_does_what_it_shows() -> None:
    session = "\n".join(blocks("how-to/shell-analysis.md"))
    shown = doctest.DocTestParser().get_doctest(session, {}, "how-to/shell-analysis.md", None, 0)
    assert len(shown.examples) > 12
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    said: list[str] = []
    runner.run(shown, out=said.append)
    assert not runner.failures, "".join(said)


def test_the_page_names_everything_that_is_public() -> None:
    text = (DOCS / "how-to/shell-analysis.md").read_text("utf-8")
    aliases = {"Edition", "Language", "EquivalenceVerdict"}
    assert [
        name for name in shell_analysis.__all__ if name not in text and name not in aliases
    ] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_line_of_the_rules_pages_says_what_it_shows(
    page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(DOCS.parent)
    known = {name: getattr(shell_analysis, name) for name in shell_analysis.__all__}
    compared = 0
    for line in "\n".join(blocks(page)).splitlines():
        code, _, shown = line.partition("  # ")
        if not shown:
            exec(code, known)
            continue
        found = eval(code, known)
        compared += 1
        if shown.startswith("('"):
            assert repr(found) == shown
        said = f"{found} {found!r} {found.reasons if hasattr(found, 'reasons') else ''}"
        assert shown.split(", ")[0].partition("(code=")[0].strip("'\"").split(" ")[0] in said, line
    assert compared
