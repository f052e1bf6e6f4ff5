"""What `docs/specifications.md` names as proof is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "specifications.md").read_text("utf-8")
NAMED = sorted(set(re.findall(r"`((?:tests/)?[\w/]*test_\w+\.py(?:::\w+)?|tests/[\w/]+/)`", PAGE)))


def paragraphs(specification: str) -> str:
    """The first column of a specification's table."""
    section = re.split(r"^## ", PAGE, flags=re.MULTILINE)
    [table] = [each for each in section if each.startswith(f"{specification}:")]
    return " ".join(line.split("|")[1] for line in table.splitlines() if line.startswith("| §"))


@pytest.mark.parametrize("name", NAMED)
def test_a_test_that_is_named_as_proof_exists(name: str) -> None:
    file, _, function = name.partition("::")
    found = [ROOT / file] if "/" in file else list((ROOT / "tests").rglob(file))
    assert found and all(each.exists() for each in found), f"there is no {file}"
    if function:
        assert any(f"def {function}(" in each.read_text("utf-8") for each in found)


def test_no_numbered_paragraph_of_specification_001_is_left_out() -> None:
    said = paragraphs("001")
    for paragraph in ("1.1", "1.2", "2.1", "2.2", "3.1", "3.2", "4.1", "5.1", "5.2", "5.3", "5.4",
                      "6.1", "6.2", "7.1", "7.2", "8.1", "8.2", "9.1", "10.1", "10.2"):  # fmt: skip
        assert re.search(rf"\b{re.escape(paragraph)}\b", said), paragraph
