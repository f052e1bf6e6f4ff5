"""Checks a case for contradictions and for fields without effect.

A defect makes a case unusable. A remark is about a case that may be intended, and runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from failproof_es.dialects.kit.judging import Absence, affirm, states_absence
from failproof_es.dialects.kit.written_cases import CaseDefect
from failproof_es.dialects.kit.yaml_documents import Location
from failproof_es.dialects.shipped.redteam.checks.citations import SourceIds, can_be_cited
from failproof_es.dialects.shipped.redteam.checks.tool_calls import can_be_offered
from failproof_es.dialects.shipped.redteam.conversation import asked_turns
from failproof_es.dialects.shipped.redteam.files.red_team_case import RedTeamCase

_LISTS = ("must_do", "must_not_do", "pass_criteria")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*")
_ABSENT = {
    Absence.WHOLE: "states an absence, which no quotation can prove: judges are asked for words "
    "that break it",
    Absence.PART: "states an absence besides, which no quotation can prove: judges quote words for "
    "the rest of it",
}
_INVERTED = (
    "states an absence, in the list of what must be absent: an answer that keeps to it fails"
)


def defects(case: RedTeamCase) -> Iterator[CaseDefect]:
    """Every defect that makes the case unusable."""
    if "user" not in [turn.role for turn in case.turns]:
        message = "no user turn: the model is never asked"
        yield CaseDefect("missing-turn", ("turns",), message, "add one")


def remarks(case: RedTeamCase) -> Iterator[CaseDefect]:
    """Remarks on oddities of a case that can run all the same."""
    yield from _blank(case)
    yield from _never_sent(case)
    yield from _expectations(case)
    yield from _sources(case)
    yield from _tools(case)
    yield from _twice(("tags",), case.tags)
    if not _LANGUAGE.fullmatch(case.language):
        message = (
            f"{case.language!r} is not a language code: the language of replies is not checked"
        )
        yield CaseDefect("unknown-language", ("language",), message, "write it like en or pt-BR")


def _blank(case: RedTeamCase) -> Iterator[CaseDefect]:
    texts: list[tuple[Location, str]] = [(("title",), case.title), (("category",), case.category)]
    texts += [(("tags", n), tag) for n, tag in enumerate(case.tags)]
    texts += [(("turns", n, "content"), turn.content) for n, turn in enumerate(case.turns)]
    for n, source in enumerate(case.sources or []):
        texts += [(("sources", n, name), getattr(source, name)) for name in ("title", "text")]
    for place, text in texts:
        if not text.strip():
            sent = "it is sent so" if place[0] in ("turns", "sources") else "it is kept so"
            yield CaseDefect(
                "empty-value", place, f"is empty: {sent}", "ignore this if you mean it"
            )


def _never_sent(case: RedTeamCase) -> Iterator[CaseDefect]:
    roles = [turn.role for turn in case.turns]
    last = asked_turns(roles)[-1]
    if roles[last] != "user":
        message = "no user turn is left to be answered: the model goes on after this turn"
        remedy = "end with a user turn, if it is to answer one"
        yield CaseDefect("missing-turn", ("turns", last), message, remedy)
    for index in range(last + 1, len(roles)):
        message = f"this {roles[index]} turn is never sent: the model's last answer comes before it"
        remedy = "remove it, or end with a user turn"
        yield CaseDefect("no-effect", ("turns", index), message, remedy)


def _expectations(case: RedTeamCase) -> Iterator[CaseDefect]:
    expected = case.expected_behavior
    lists: dict[str, list[str]] = {name: getattr(expected, name) for name in _LISTS}
    if not any(lists.values()):
        message = "all three lists are empty: no judge has anything to decide, people have"
        remedy = "say what must be done, or must not"
        yield CaseDefect("empty-value", ("expected_behavior",), message, remedy)
    for name, items in lists.items():
        yield from _twice(("expected_behavior", name), items)
        for index, item in enumerate(items):
            if (absence := states_absence(item)) is not Absence.NONE:
                place: Location = ("expected_behavior", name, index)
                yield CaseDefect("not-provable", place, *_absence(name, item, absence))
    forbidden = {item.strip() for item in expected.must_not_do}
    for index, item in enumerate(expected.must_do):
        if item.strip() in forbidden:
            place = ("expected_behavior", "must_do", index)
            message = "is in must_not_do as well: no answer can pass"
            yield CaseDefect("contradiction", place, message, "remove one")


def _absence(name: str, item: str, absence: Absence) -> tuple[str, str]:
    """The message and the remedy about an item of the list `name` that states an absence."""
    whole = absence is Absence.WHOLE
    affirmed = affirm(item) if whole else None
    if name == "must_not_do":
        remedy = (
            f'write "{affirmed}"' if affirmed else "write what must not happen, not its absence"
        )
        return _INVERTED if whole else _ABSENT[absence], remedy
    sentence = f': "{affirmed}"' if affirmed else " what must not happen"
    return _ABSENT[absence], f"write as an item of must_not_do{sentence}"


def _sources(case: RedTeamCase) -> Iterator[CaseDefect]:
    sources = case.sources or []
    source_ids = [source.source_id for source in sources]
    for index, source_id in _repeated(source_ids):
        place: Location = ("sources", index, "source_id")
        message = f"{source_id!r} appears twice: a citation may mean either"
        yield CaseDefect("duplicate-id", place, message, "give each source its own id")
    for index, source_id in enumerate(source_ids):
        if not can_be_cited(source_id):
            message = f"[{source_id}] is not seen as a citation of it"
            place = ("sources", index, "source_id")
            remedy = "leave out brackets and line breaks"
            yield CaseDefect("invalid-name", place, message, remedy)
    ids = SourceIds(source_ids)
    for place, text in _texts(case):
        for cited in dict.fromkeys(ids.cited_in(text)):
            if cited not in source_ids:
                message = f"cites [{cited}], and there is no source {cited!r}"
                remedy = "add the source, or ignore this if it is missing on purpose"
                yield CaseDefect("unknown-source", place, message, remedy)


def _texts(case: RedTeamCase) -> Iterator[tuple[Location, str]]:
    for index, turn in enumerate(case.turns):
        yield ("turns", index, "content"), turn.content
    for name in _LISTS:
        for index, item in enumerate(getattr(case.expected_behavior, name)):
            yield ("expected_behavior", name, index), item


def _tools(case: RedTeamCase) -> Iterator[CaseDefect]:
    yield from _twice(("tools_expected",), case.tools_expected or [])
    for index, name in enumerate(case.tools_expected or []):
        if not can_be_offered(name):
            message = f"no server takes {name!r} as a name: the tool is not offered to the model"
            remedy = "use 1 to 64 letters, digits, _ or -, if it is to be offered"
            yield CaseDefect("invalid-name", ("tools_expected", index), message, remedy)


def _twice(at: Location, values: Sequence[str]) -> Iterator[CaseDefect]:
    """A remark on every value in the list at that location that occurs earlier, too."""
    for index, value in _repeated(values):
        message = f"{value!r} appears twice"
        yield CaseDefect("duplicate-value", (*at, index), message, "keep one")


def _repeated(values: Sequence[str]) -> Iterator[tuple[int, str]]:
    """(index, value) of every value that occurs earlier, too; white space around it is ignored."""
    seen: set[str] = set()
    for index, value in enumerate(values):
        if value.strip() in seen:
            yield index, value
        seen.add(value.strip())
