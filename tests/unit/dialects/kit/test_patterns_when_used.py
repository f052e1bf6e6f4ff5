"""Patterns that are compiled when they are used: none when they are loaded, all of them sound."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from failproof_es.dialects.kit import (
    patterns_when_used,
    refusal,
    refusal_english,
    refusal_judgement,
    refusal_phrases,
)
from failproof_es.dialects.kit.patterns_when_used import LazyPattern
from tests.every import every

MODULES = (refusal, refusal_english, refusal_judgement, refusal_phrases)


def patterns() -> Iterator[tuple[str, LazyPattern]]:
    for module in MODULES:
        for name, value in vars(module).items():
            many = value if isinstance(value, dict) else {"": value}
            for key, each in many.items():
                if isinstance(each, LazyPattern):
                    yield f"{module.__name__.rpartition('.')[2]}.{name}{key}", each


def test_all_are_found() -> None:
    names = [name for name, _ in patterns()]
    assert len(names) > 50
    assert "refusal_phrases.DECLININGko" in names


@every("pattern", [pytest.param(each, id=name) for name, each in patterns()])
def test_every_pattern_compiles(pattern: LazyPattern) -> None:
    assert pattern.compiled.pattern == pattern.pattern
    assert pattern.compiled is pattern.compiled


def test_it_finds_what_the_module_finds() -> None:
    pattern = patterns_when_used.compile(r"(b+)", patterns_when_used.IGNORECASE)
    found = pattern.search("aBb b")
    assert found is not None and found.group() == "Bb"
    assert pattern.search("bab", 1, 2) is None
    assert pattern.match("ab") is None
    assert pattern.findall("b ab") == ["b", "b"]
    assert [each.start() for each in pattern.finditer("b ab")] == [0, 3]
