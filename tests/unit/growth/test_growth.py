"""Twice the reply takes twice the work: of every reader and grader, whatever the reply says.

The readers are found, not named (`tests/growth`): a new one is tried by itself.
"""

from __future__ import annotations

from itertools import product

import pytest

from failproof_es.dialects.protocol import waits_for_programs
from failproof_es.dialects.registry import dialect_named, names
from failproof_es.testing.kit import key_set
from tests.every import every
from tests.examples import stride
from tests.growth import dialects, functions, replies, sources
from tests.growth.texts import HostileText, framed_texts, texts, worst_texts
from tests.growth.work import Sizes, assert_grows_as_its_text

pytestmark = pytest.mark.long

SMALL = Sizes(256, 5)
LARGE = Sizes(1_024, 7)
"""What has a small constant shows at 128 kB only, such as the lines that a JSON decoder counts."""
AS_LONG_AS_ITS_KEYS = Sizes(2_048, 3)
"""A YAML parser looks 1,024 characters ahead for the end of a key."""

DIALECTS = [name for name in names() if not waits_for_programs(dialect_named(name))]
"""The others start programs (`tests/integration/dialects/test_growth_of_work.py`)."""
FUNCTIONS = {reader.name: reader for reader in functions.readers()}
SOURCES = {reader.name: reader for reader in (*sources.importers(), *sources.recorded_runs())}
SERVERS = {reader.name: reader for reader in (*replies.providers(), replies.redactor())}
SLOWLY_PARSED = tuple(name for name in SOURCES if name.startswith("promptfoo "))
FEW_TEXTS = worst_texts()[::12]


def some_of(hostile: list[HostileText], turn: int, many: int) -> list[HostileText]:
    """One of `stride(many)` of the texts; each reader begins with another one."""
    return hostile[turn % len(hostile) % stride(many) :: stride(many)]


@every(("turn", "name"), enumerate(DIALECTS))
def test_a_dialect_grades_twice_the_answer_with_twice_the_work(turn: int, name: str) -> None:
    for reader in dialects.readers_of(name, ("text",), results=False):
        assert_grows_as_its_text(reader, some_of(worst_texts(), turn, 10), SMALL)


@every(("turn", "name"), enumerate(FUNCTIONS))
def test_a_function_reads_twice_the_text_with_twice_the_work(turn: int, name: str) -> None:
    assert_grows_as_its_text(FUNCTIONS[name], some_of(worst_texts(), turn, 4), SMALL)


@every(("turn", "name"), enumerate(name for name in SOURCES if name not in SLOWLY_PARSED))
def test_an_importer_reads_twice_the_source_with_twice_the_work(turn: int, name: str) -> None:
    assert_grows_as_its_text(SOURCES[name], some_of(worst_texts(), turn, 20), SMALL)


@pytest.mark.parametrize("name", SERVERS)
@pytest.mark.thinned(fast=4, whole=8)
def test_twice_the_body_is_parsed_with_twice_the_work(name: str) -> None:
    with key_set():
        assert_grows_as_its_text(SERVERS[name], FEW_TEXTS, SMALL)


# -- wide ----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.thinned(whole=2)
@pytest.mark.wide
def test_a_dialect_does_with_large_answers(name: str) -> None:
    for reader in dialects.readers_of(name, ("text",), results=False):
        assert_grows_as_its_text(reader, worst_texts()[:: stride(24)], LARGE)


@pytest.mark.slow
@every(("turn", "of"), enumerate(product(DIALECTS, dialects.PLACES)))
def test_a_dialect_does_with_every_part_of_an_answer_and_in_its_results(
    turn: int, of: tuple[str, str]
) -> None:
    name, place = of
    hostile = texts() if place == "text" else worst_texts()
    for reader in dialects.readers_of(name, (place,)):
        assert_grows_as_its_text(reader, some_of(hostile, turn, 96), SMALL)


@pytest.mark.slow
@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.thinned(whole=1)
def test_a_dialect_does_with_texts_in_frames(name: str) -> None:
    for reader in dialects.readers_of(name, ("text",), results=False):
        assert_grows_as_its_text(reader, list(framed_texts())[:: stride(9600)], SMALL)


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.thinned(whole=3)
def test_a_function_does_with_large_texts_with_all_texts_and_in_frames(name: str) -> None:
    reader = FUNCTIONS[name]
    assert_grows_as_its_text(reader, worst_texts()[:: stride(24)], LARGE)
    assert_grows_as_its_text(reader, texts()[:: stride(24)], SMALL)
    assert_grows_as_its_text(reader, list(framed_texts())[:: stride(4800)], SMALL)


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.thinned(fast=4, whole=6)
def test_an_importer_does_with_all_texts(name: str) -> None:
    sizes = AS_LONG_AS_ITS_KEYS if name in SLOWLY_PARSED else SMALL
    assert_grows_as_its_text(SOURCES[name], worst_texts()[:: stride(24)], sizes)


@pytest.mark.slow
@every("name", SERVERS)
def test_a_body_does_with_all_texts(name: str) -> None:
    with key_set():
        assert_grows_as_its_text(SERVERS[name], worst_texts()[:: stride(24)], SMALL)
