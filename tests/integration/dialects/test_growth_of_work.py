"""Twice the reply takes twice the work, also of what starts programs to read it.

`tests/unit/growth` tries all other readers. Here the work of the children counts, too.
"""

from __future__ import annotations

import pytest

from failproof_es.dialects.protocol import waits_for_programs
from failproof_es.dialects.registry import dialect_named, names
from failproof_es.shell_analysis.parse import shell
from tests.examples import stride
from tests.growth import dialects, functions
from tests.growth.texts import HostileText, texts, worst_texts
from tests.growth.work import Reader, Sizes, Work, assert_grows_as_its_text

SIZES = Sizes(1_024, 5)
DIALECTS = [name for name in names() if waits_for_programs(dialect_named(name))]
FUNCTIONS = {reader.name: reader for reader in functions.readers(starting_programs=True)}


def _asking_again(reader: Reader) -> Reader:
    """The reader without the answers that the parser of the shell gave before."""

    def prepare(text: str) -> dict[str, Work]:
        works = reader.prepare(text)
        for batcher in shell._READERS.values():
            batcher.forget()
        return dict(works)

    return Reader(reader.name, prepare)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_reads_twice_the_text_with_twice_the_work(name: str) -> None:
    assert_grows_as_its_text(_asking_again(FUNCTIONS[name]), worst_texts()[:: stride(2)], SIZES)


def _of_dialect(name: str, hostile: list[HostileText]) -> None:
    assert list(dialects.readers_of(name)), "a dialect without a reader"
    for reader in dialects.readers_of(name, ("text",), results=False):
        assert_grows_as_its_text(_asking_again(reader), hostile, SIZES)


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.slow
def test_a_dialect_grades_twice_the_answer_with_twice_the_work(name: str) -> None:
    _of_dialect(name, worst_texts()[::16])


@pytest.mark.slow
@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.wide
def test_a_dialect_does_with_all_texts(name: str) -> None:
    _of_dialect(name, worst_texts()[:: stride(24)])


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_does_with_all_texts(name: str) -> None:
    assert_grows_as_its_text(_asking_again(FUNCTIONS[name]), texts()[:: stride(24)], SIZES)
