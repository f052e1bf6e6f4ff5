"""Every reader has hostile input, and a reader that takes the square of a text is found."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from failproof_es.configuration.providers import PROVIDERS
from failproof_es.dialects.protocol import ReadsJudges
from failproof_es.dialects.registry import dialect_named, names
from failproof_es.importers.registry import IMPORTERS
from failproof_es.models.provider_type import provider_type
from failproof_es.recorded_runs.kinds import READERS
from failproof_es.testing.kit import key_set
from tests.growth import dialects, functions, replies, sources
from tests.growth.texts import repeated
from tests.growth.work import Reader, Sizes, excesses

NOT_OF_REPLIES = frozenset({
    *("recognises", "load", "load_by_file", "with_options", "rebuild_case", "tools"),
    *("fixed_outcome", "wants_refusal", "reference_answer", "reply_schema"),
    *("reordered_rubric", "rephrased_rubric"),
})  # fmt: skip
"""Methods of a dialect that are given files, options or a case, and nothing that was said."""


def test_every_method_of_a_dialect_reads_no_reply_or_is_given_hostile_ones() -> None:
    known = dialects.OF_REPLIES.keys() | dialects.OTHERS.keys() | {type(None)}
    unknown = {
        name: sorted(map(str, types - known))
        for name, parameters in dialects.methods()
        if name not in NOT_OF_REPLIES
        and (types := set().union(*map(dialects.types_of, parameters.values()))) - known
    }
    assert unknown == {}, "say in tests/growth/dialects.py how a hostile one is made"
    assert {name for name, _ in dialects.methods()} >= NOT_OF_REPLIES
    assert not NOT_OF_REPLIES & dialects.reading_methods().keys()


def test_a_judges_reply_about_every_example_of_a_dialect_is_read() -> None:
    for name in names():
        dialect = dialect_named(name)
        if isinstance(dialect, ReadsJudges):
            assert dialects.cases_of(dialect), name
            for case in dialects.cases_of(dialect):
                said = dialects.HostileReply(dialect, case, "I will not help with that.", "text")
                reading = dialect.read_judgement(case, said.transcript, said.reply)
                assert reading.verdict is not None, (name, reading.problem)


def test_every_function_that_is_given_a_text_has_a_hostile_one() -> None:
    found = dict(functions.functions())
    missing = [
        name
        for name, function in found.items()
        if not (name in functions.BY_HAND or name.startswith(functions.OTHERS))
        and not functions.is_automatic(function)
    ]
    assert missing == [], "add them to BY_HAND in tests/growth/functions.py, or to OTHERS"
    assert found.keys() >= functions.BY_HAND.keys() | functions.STARTING_PROGRAMS
    unused = [
        other for other in functions.OTHERS if not any(name.startswith(other) for name in found)
    ]
    assert unused == []


def test_every_importer_and_every_kind_of_recorded_run_has_hostile_sources() -> None:
    assert sources.RECORDED_RUNS.keys() == READERS.keys()
    tried = {reader.name.partition(" ")[0] for reader in sources.importers()}
    assert tried == set(IMPORTERS.names()) - sources.binary_importers()


def test_every_provider_reads_what_one_of_the_servers_writes() -> None:
    with key_set():
        for reader in replies.providers():
            works = reader.prepare("abc")
            texts = [getattr(_answer(work), "text", None) for work in works.values()]
            holds_no_bytes = not hasattr(provider_type(reader.name), "implementation")
            assert "abc" in texts or holds_no_bytes, reader.name
        assert {reader.name for reader in replies.providers()} == set(PROVIDERS.names())


def _answer(work: Callable[[], object]) -> object:
    try:
        return work()
    except Exception:
        return None


# -- the measure ---------------------------------------------------------------------------------


def once(text: str) -> object:
    return [word.lower() for word in text.split("a")]


def sorted_words(text: str) -> object:
    return sorted(word[::-1] for word in text.split("a"))


def words_against_all_later_ones(text: str) -> object:
    words = text.split("a")
    places = range(0, len(words), 32)
    return [any(other > words[at] for other in words[at:]) for at in places]


def all_before_copied(text: str) -> object:
    return [text[:at] for at in range(len(text))]


def searched_from_every_place(text: str) -> object:
    return [text.find("ax", at) for at in range(len(text))]


def within_itself(text: str) -> object:
    return within_itself(text[1:]) if text else None


SIZES = Sizes(512, 5)


def _found(read: Callable[[str], object]) -> bool:
    reader = Reader(read.__name__, lambda text: {"": lambda: read(text)})
    return excesses(reader, [repeated("a")], SIZES) != []


@pytest.mark.parametrize("read", [once, sorted_words])
def test_work_that_grows_as_the_text_does_is_none_too_much(read: Callable[[str], object]) -> None:
    assert not _found(read)


@pytest.mark.parametrize(
    "read", [words_against_all_later_ones, all_before_copied, searched_from_every_place]
)
@pytest.mark.long
@pytest.mark.slow
@pytest.mark.thinned(whole=1)
@pytest.mark.wide
def test_work_that_grows_as_the_square_of_a_text_is_found(read: Callable[[str], object]) -> None:
    assert _found(read)


def test_a_reader_that_a_deep_text_breaks_is_no_reader_that_refuses_it() -> None:
    with pytest.raises(RecursionError):
        _found(within_itself)
