"""Every template of a page escapes what it shows."""

from __future__ import annotations

import re
from pathlib import Path

import failproof_es

TEMPLATES = [
    path
    for path in Path(failproof_es.__file__).parent.rglob("templates/*")
    if path.suffix in (".html", ".jinja", ".j2", ".xml")
]
UNESCAPED = re.compile(r"\|\s*safe\b|\bautoescape\b|\bMarkup\b")


def test_no_template_leaves_a_value_as_it_is() -> None:
    assert len(TEMPLATES) > 20
    assert [path.name for path in TEMPLATES if UNESCAPED.search(path.read_text("utf-8"))] == []
