"""What promptfoo's tests take over from the default test."""

from __future__ import annotations

from pathlib import Path

from tests.unit.importers.reading import importing


def test_a_test_may_do_without_the_default_assertions(tmp_path: Path) -> None:
    """Only by an option of its own or of its scenario; all other defaults stay."""
    none = "options: {disableDefaultAsserts: true}"
    source = importing(
        tmp_path,
        "prompts: ['{{q}}']\n"
        f"defaultTest: {{vars: {{q: a}}, assert: [{{type: contains, value: d}}], {none}}}\n"
        f"tests: [{{}}, {{{none}}}, {{{none}, assert: [{{type: contains, value: o}}]}},\n"
        "  {options: {disableDefaultAsserts: 'true'}}]\n"
        "scenarios:\n"
        f"  - config: [{{{none}, assert: [{{type: contains, value: s}}]}}]\n"
        "    tests: [{assert: [{type: contains, value: o}]}]\n",
    )
    texts = ["".join(check.texts[0] for check in case.checks) for case in source.cases]
    assert texts == ["d", "", "o", "d", "so"] and not source.lost
