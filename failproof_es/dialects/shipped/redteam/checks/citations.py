"""Checks citations of sources: cited ids, quoted passages, claims without a citation.

A citation is a source's id in square brackets, `[SRC-1]`, several separated by comma or semicolon.
The check covers facts that can be looked up: whether a cited id was given, and whether a passage in
quotation marks is in a source. Whether the source *supports* a claim is for judges and people.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from typing import Any

from failproof_es.dialects.kit.judging.quotation import Comparable, comparable, on_one_line

_BRACKETS = re.compile(r"\[([^\[\]\n]{1,200})\]")
_LIKE_AN_ID = re.compile(r"([A-Za-z]+[-_ ])\d+")
_USUAL_PREFIX = "src-"
_QUOTED = re.compile(
    r"“([^“”]+)”|„([^„“”]+)[“”]|«([^«»]+)»|»([^«»]+)«|「([^「」]+)」|『([^『』]+)』|\"([^\"]+)\""
)
_CITED_RIGHT_AFTER = re.compile(r"[\s.,;:!?(]{0,4}(\[[^\[\]\n]{1,200}\])")
_FEWEST_QUOTED_WORDS = 4
"""Shorter quotations are terms and titles, not passages."""
_FEWEST_CLAIM_WORDS = 5
_UNSPACED = re.compile(r"[\u0e00-\u1fff\u3040-\u9fff\uf900-\ufaff]")
_FEWEST_UNSPACED = 8
"""Characters instead of words, for scripts without spaces between words."""
_ELLIPSIS = re.compile(r"\s*(?:\[?(?:\.\.\.|…)\]?)\s*")
_CLOSING = " .,;:!?。、！？"
_SENTENCE = re.compile(
    r"""
    (?: [^.!?。！？\n]
      | [.!?] (?=[^\s"”»)\[] | [ ][a-zß-ÿ])  # 3.5; a.m. on
    )+
    [.!?。！？]* ["”»」』)]*
    (?:[ ]* \[[^\[\]\n]{1,200}\])*  # citations that follow the end
    """,
    re.VERBOSE,
)
_LONGEST_SHOWN = 200


class SourceIds:
    """The ids of a case's sources, to be found in texts that cite them."""

    def __init__(self, ids: Collection[str]) -> None:
        self._ids_by_spelling = {_hyphened(source_id): source_id for source_id in ids} | {
            on_one_line(source_id): source_id for source_id in ids
        }
        matches = map(_LIKE_AN_ID.fullmatch, self._ids_by_spelling)
        self._prefixes = {_USUAL_PREFIX, *(match[1].lower() for match in matches if match)}

    def cited_in(self, text: str) -> Iterator[str]:
        """Every id that the text cites, in order: ids of sources, and ids that look like them.

        An id may be any text: `[SRC 1]` and `[SRC-1]` cite `SRC 1`; `[a, b]` cites `a, b` if that
        is one id, else `a` and `b`. Repetitions are not removed.
        """
        for bracket in _BRACKETS.finditer(text):
            whole = [
                candidate
                for candidate in (bracket[0], bracket[1])
                if on_one_line(candidate) in self._ids_by_spelling
            ]
            for part in whole[:1] or re.split(r"[,;]", bracket[1]):
                cited = on_one_line(part)
                like = _LIKE_AN_ID.fullmatch(cited)
                if cited in self._ids_by_spelling:
                    yield self._ids_by_spelling[cited]
                elif like and like[1].lower() in self._prefixes:
                    yield cited


def can_be_cited(source_id: str) -> bool:
    """Whether `[source_id]` in a text is recognised as a citation of the source."""
    return list(SourceIds([source_id]).cited_in(f"[{source_id}]")) == [source_id]


def _hyphened(text: str) -> str:
    """The id in its usual spelling in citations: `SRC-1` for `SRC 1`."""
    return re.sub(r"[\s_]+", "-", text.strip())


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
