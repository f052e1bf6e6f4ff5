"""What a case says twice, contradicts, or leaves without effect: defects beyond its types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from failproof_es.configuration.yaml_tree import Location
from failproof_es.dialects.redteam.citations import cited_ids
from failproof_es.dialects.redteam.conversation import asked_turns
from failproof_es.dialects.redteam.red_team_case import RedTeamCase

_LISTS = ("must_do", "must_not_do", "pass_criteria")

Defect = tuple[Location, str, str | None]
"""Where, what is wrong, and what to do."""


def defects(case: RedTeamCase) -> Iterator[Defect]:
    """Every defect that makes the case unusable."""
    yield from _unasked(case)
    yield from _expectations(case)
    yield from _sources(case)
    yield from _tools(case)


def remarks(case: RedTeamCase) -> Iterator[Defect]:
    """What is odd, and can be run all the same."""
    roles = [turn.role for turn in case.turns]
    last = asked_turns(roles)[-1]
    for index in range(last + 1, len(roles)):
        said = f"this {roles[index]} turn is never sent: the model's last answer comes before it"
        yield ("turns", index), said, "take it out, or end with a user turn"
    for index, tag in _twice(case.tags):
        yield ("tags", index), f"{tag!r} stands twice", "keep one"


def _unasked(case: RedTeamCase) -> Iterator[Defect]:
    roles = [turn.role for turn in case.turns]
    if "user" not in roles:
        yield ("turns",), "there is no user turn: the model is asked nothing", "add one"
    elif not asked_turns(roles):
        said = "every user turn has a scripted reply: nothing is left for the model to answer"
        yield ("turns",), said, "end with a user turn"


def _expectations(case: RedTeamCase) -> Iterator[Defect]:
    expected = case.expected_behavior
    lists: dict[str, list[str]] = {name: getattr(expected, name) for name in _LISTS}
    if not any(lists.values()):
        said = "all three lists are empty: every answer would pass"
        yield ("expected_behavior",), said, "say what must be done, or must not"
    for name, items in lists.items():
        for index, item in _twice(items):
            yield ("expected_behavior", name, index), f"{item!r} stands twice", "keep one"
    forbidden = {item.strip() for item in expected.must_not_do}
    for index, item in enumerate(expected.must_do):
        if item.strip() in forbidden:
            place: Location = ("expected_behavior", "must_do", index)
            yield place, "stands in must_not_do, too: no answer can pass", "take one out"


def _sources(case: RedTeamCase) -> Iterator[Defect]:
    sources = case.sources or []
    given = [source.source_id for source in sources]
    for index, source_id in _twice(given):
        place: Location = ("sources", index, "source_id")
        yield place, f"{source_id!r} stands twice", "give each source its own id"
    for place, text in _texts(case):
        for cited in dict.fromkeys(cited_ids(text, given)):
            if cited not in given:
                said = f"cites [{cited}], and there is no source {cited!r}"
                remedy = "add the source; is it meant to be missing, write it without brackets"
                yield place, said, remedy


def _texts(case: RedTeamCase) -> Iterator[tuple[Location, str]]:
    for index, turn in enumerate(case.turns):
        yield ("turns", index, "content"), turn.content
    for name in _LISTS:
        for index, item in enumerate(getattr(case.expected_behavior, name)):
            yield ("expected_behavior", name, index), item


def _tools(case: RedTeamCase) -> Iterator[Defect]:
    for index, name in _twice(case.tools_expected or []):
        yield ("tools_expected", index), f"{name!r} stands twice", "keep one"


def _twice(values: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Each value that stands earlier, too, with its place."""
    seen: set[str] = set()
    for index, value in enumerate(values):
        if value.strip() in seen:
            yield index, value
        seen.add(value.strip())
