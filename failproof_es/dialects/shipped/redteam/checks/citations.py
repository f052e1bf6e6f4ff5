"""Checks citations of sources: cited ids, quoted passages, claims without a citation.

A citation is a source's id in square brackets, `[SRC-1]` or `【SRC-1】`; several are separated by
comma, semicolon, slash, `&` or `and`, and a title may follow behind a colon.
The check covers facts that can be looked up: whether a cited id was given, and whether a passage in
quotation marks is in a source. Whether the source *supports* a claim is for judges and people.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from typing import Any

from failproof_es.dialects.kit.judging.quotation import Comparable, comparable, on_one_line

_CITATION = r"(?:\[[^\[\]\n]{1,200}\]|【[^【】\n]{1,200}】)"
_BRACKETS = re.compile(_CITATION)
_LIKE_AN_ID = re.compile(r"([a-z]+-)\d+")
_DASHES = re.compile(r"[\s_\u2010-\u2015\u2212\ufe58\ufe63\uff0d-]+")
_SEPARATORS = (re.compile("[,;]"), re.compile(r"\s+and\s+|[&/]", re.IGNORECASE))
_USUAL_PREFIX = "src-"
_MARKS = " \t`*\"'“”"
"""Marks that may be around an id in brackets."""
_QUOTED = re.compile(
    r"“([^“”]+)”|„([^„“”]+)[“”]|«([^«»]+)»|»([^«»]+)«|「([^「」]+)」|『([^『』]+)』|\"([^\"]+)\""
)
_CITED_RIGHT_AFTER = re.compile(rf"[\s.,;:!?(]{{0,4}}({_CITATION})")
_FEWEST_QUOTED_WORDS = 4
"""Shorter quotations are terms and titles, not passages."""
_FEWEST_CLAIM_WORDS = 5
_UNSPACED = re.compile(r"[\u0e00-\u1fff\u3040-\u9fff\uf900-\ufaff]")
_FEWEST_UNSPACED = 8
"""Characters instead of words, for scripts without spaces between words."""
_ELLIPSIS = re.compile(r"\s*(?:\[?(?:\.\.\.|…)\]?)\s*")
_CLOSING = " .,;:!?。、！？"
_SENTENCE = re.compile(
    rf"""
    (?: [^.!?。！？\n]
      | [.!?] (?=[^\s"”»)\[【] | [ ][a-zß-ÿ])  # 3.5; a.m. on
    )+
    [.!?。！？]* ["”»」』)]*
    (?:[ ]* {_CITATION})*  # citations that follow the end
    """,
    re.VERBOSE,
)
_LONGEST_SHOWN = 200


class SourceIds:
    """The ids of a case's sources, to be found in texts that cite them."""

    def __init__(self, ids: Collection[str]) -> None:
        spelled = Counter(map(_spelling, dict.fromkeys(ids)))
        self._exact_ids = {on_one_line(source_id): source_id for source_id in ids}
        self._ids_by_spelling = {
            _spelling(source_id): source_id
            for source_id in ids
            if spelled[_spelling(source_id)] == 1
        }
        matches = map(_LIKE_AN_ID.fullmatch, spelled)
        self._prefixes = {_USUAL_PREFIX, *(match[1] for match in matches if match)}

    def cited_in(self, text: str) -> Iterator[str]:
        """Every id that the text cites, in order: ids of sources, and ids that look like them.

        An id may be any text: `[src 1]` and `[SRC-1]` cite `SRC 1` unless there is another id that
        differs by case and dashes alone; `[a, b]` cites `a, b` if that is one id, else `a` and `b`.
        Repetitions are not removed.
        """
        for bracket in _BRACKETS.finditer(text):
            whole = self._source(bracket[0])
            yield from self._cited(bracket[0][1:-1]) if whole is None else (whole,)

    def _cited(
        self, text: str, separators: Sequence[re.Pattern[str]] = _SEPARATORS
    ) -> Iterator[str]:
        if not separators and self._source(text) is None:
            text = text.partition(":")[0]  # before a title
        if (source_id := self._source(text)) is not None:
            yield source_id
        elif separators:
            for part in separators[0].split(text):
                yield from self._cited(part, separators[1:])
        elif (like := _LIKE_AN_ID.fullmatch(_spelling(text))) and like[1] in self._prefixes:
            yield on_one_line(text.strip(_MARKS))

    def _source(self, text: str) -> str | None:
        """The id of the source that the text names, exactly or by another spelling."""
        exact = self._exact_ids.get(on_one_line(text))
        return self._ids_by_spelling.get(_spelling(text)) if exact is None else exact


def can_be_cited(source_id: str) -> bool:
    """Whether `[source_id]` in a text is recognised as a citation of the source."""
    return list(SourceIds([source_id]).cited_in(f"[{source_id}]")) == [source_id]


def _spelling(text: str) -> str:
    """The id as it is compared: without marks around it, case, and differences of dashes and
    blanks."""
    return _DASHES.sub("-", text.strip(_MARKS)).casefold()


def check(text: str, sources: Sequence[Mapping[str, str]], heard: Sequence[str]) -> dict[str, Any]:
    """The citations and quotations in a reply, each as a list of texts.

    `heard` are the scripted turns of the conversation. `cited` and `unknown` are ids with and
    without a source. `quotations` are passages in the source cited right after them or, without
    such a citation, in any source. `false_quotations` are in no such source; one without a citation
    is not in `heard` either. `uncited` are statements without a citation.
    """
    by_id: dict[str, list[Comparable]] = {}
    for source in sources:  # two sources may share an id: a citation may mean either
        by_id.setdefault(source["source_id"], []).append(comparable(source["text"]))
    ids = SourceIds(by_id)
    heard_turns = [comparable(turn) for turn in heard]
    cited = list(dict.fromkeys(ids.cited_in(text)))
    quotations, false = [], []
    for passage, source_ids in _passages(text, ids, by_id):
        if _is_in_texts(
            passage, [text for source_id in source_ids or by_id for text in by_id[source_id]]
        ):
            quotations.append(passage[:_LONGEST_SHOWN])
        elif source_ids or not _is_in_texts(passage, heard_turns):
            false.append(passage[:_LONGEST_SHOWN])
    return {
        "cited": [source_id for source_id in cited if source_id in by_id],
        "unknown": [source_id for source_id in cited if source_id not in by_id],
        "quotations": quotations,
        "false_quotations": false,
        "uncited": [
            claim[:_LONGEST_SHOWN] for claim in _claims(text) if not any(ids.cited_in(claim))
        ],
    }


def _passages(
    text: str, ids: SourceIds, sources: Container[str]
) -> Iterator[tuple[str, list[str]]]:
    """The texts in quotation marks, each with the ids of the sources cited right after it.

    `sources` are the ids of all sources; others are left out. Shorter quotations are terms, not
    passages.
    """
    for match in _QUOTED.finditer(text):
        passage = next(group for group in match.groups() if group is not None)
        if _says_enough(passage, _FEWEST_QUOTED_WORDS):
            citation = _CITED_RIGHT_AFTER.match(text, match.end())
            cited_ids = ids.cited_in(citation[1]) if citation else ()
            yield (
                comparable(passage).text,
                [source_id for source_id in cited_ids if source_id in sources],
            )


def _says_enough(text: str, fewest_words: int) -> bool:
    return len(text.split()) >= fewest_words or len(_UNSPACED.findall(text)) >= _FEWEST_UNSPACED


def _quoted_parts(passage: str) -> list[str]:
    """The parts of a passage between marks of omission, without closing punctuation."""
    parts = (part.strip(_CLOSING) for part in _ELLIPSIS.split(passage))
    return [part for part in parts if part]


def _is_in_texts(passage: str, texts: Sequence[Comparable]) -> bool:
    parts = map(comparable, _quoted_parts(passage))
    return all(any(text.holds(part) for text in texts) for part in parts)


def _claims(text: str) -> Iterator[str]:
    """The sentences that are long enough to state something, and are no questions.

    Headings that end in a colon are left out, too.
    """
    for sentence in _SENTENCE.finditer(text):
        stated = sentence[0].strip()
        if _says_enough(stated, _FEWEST_CLAIM_WORDS) and not stated.endswith(("?", "？", ":")):
            yield comparable(stated).text
