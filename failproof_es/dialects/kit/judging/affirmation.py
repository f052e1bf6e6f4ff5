"""Turns "Does not name a price." into "Names a price.": the item to write instead. Pure.

Only plain forms with a single negation are turned round; a wrong sentence would be worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from failproof_es.dialects.kit.judging.absence import QUOTED, Absence, states_absence

_AUXILIARY = (
    "do|does|did|is|are|was|were|has|have|had|can|could|will|would|must|should|may|might|shall"
)
_NEGATION = re.compile(
    r"\b(?:no|none|nothing|nobody|nowhere|neither|nor|not|never|cannot|without|avoid\w*|lacks?|"
    r"omit\w*|refrain\w*|abstain\w*|exclude\w*|withh\w+|free (?:of|from))\b|n['’]t\b",
    re.IGNORECASE,
)
_BE_OR_HAVE = frozenset({"is", "are", "was", "were", "has", "have", "had"})
_THIRD_PERSON = {"be": "is", "have": "has", "do": "does", "go": "goes"}
_SIBILANT = re.compile(r"(?:s|x|z|ch|sh)$")
_CONSONANT_Y = re.compile(r"[^aeiou]y$")
_VERB = (
    r"(?P<verb>(?!(?:also|just|even|only|yet|still|always|ever|a|an|the|any)\b)"
    r"(?!(?!(?:re|app|rep|comp|supp|multip)ly\b)[a-z]+ly\b)[a-z]+)\b(?!\s+(?:or|and)\b)"
)
"""One verb: neither an adverb before it nor a second verb, which would need its own ending."""
_PLURAL = re.compile(r"i|we|you|they|these|those|\w*[a-z](?<![sui])s")
"""A subject whose verb has no ending: `answers`, not `class`, `this` or `status`."""


def affirm(item: str) -> str | None:
    """The English sentence without its negation; `None` if it has several, or no plain form."""
    masked = QUOTED.sub(lambda quoted: "_" * len(quoted[0]), item)
    if len(_NEGATION.findall(masked)) != 1:
        return None
    for pattern, affirmed in _FORMS:
        if match := pattern.search(masked):
            words = affirmed(match)
            before = item[: match.start()]
            sentence = before + (words if before.strip() else words[:1].upper() + words[1:])
            sentence += item[match.end() :]
            return sentence if states_absence(sentence) is Absence.NONE else None
    return None


def _denied_verb(match: re.Match[str]) -> str:
    auxiliary, verb = match["auxiliary"].lower(), match["verb"]
    if auxiliary in _BE_OR_HAVE:
        return f"{auxiliary} {verb}"
    subject = match.string[: match.start()].split()
    return verb if _is_plural(subject, auxiliary) else _third_person(verb.lower())


def _is_plural(subject: Sequence[str], auxiliary: str) -> bool:
    if not subject or auxiliary == "does":
        return False
    return auxiliary == "do" or _PLURAL.fullmatch(subject[-1].lower()) is not None


def _third_person(verb: str) -> str:
    if verb in _THIRD_PERSON:
        return _THIRD_PERSON[verb]
    if _CONSONANT_Y.search(verb):
        return f"{verb[:-1]}ies"
    return f"{verb}es" if _SIBILANT.search(verb) else f"{verb}s"


def _form(
    pattern: str, affirmed: Callable[[re.Match[str]], str]
) -> tuple[re.Pattern[str], Callable[[re.Match[str]], str]]:
    return re.compile(pattern, re.IGNORECASE), affirmed


_FORMS = (
    _form(
        rf"\b(?P<auxiliary>{_AUXILIARY}|ca|wo|sha)(?:\s*not|n['’]t)(?:\s+ever)?\s+{_VERB}",
        _denied_verb,
    ),
    _form(
        rf"\b(?P<auxiliary>{_AUXILIARY})\s+never\s+{_VERB}",
        _denied_verb,
    ),
    _form(rf"\bnever\s+{_VERB}", lambda match: match["verb"]),
    _form(r"^\s*there\s+(?:is|are)\s+no\s+", lambda _: "contains any "),
    _form(
        r"^\s*no\s+(?!(?:answer|reply|response|turn|message|model)\b)", lambda _: "contains any "
    ),
    _form(r"(?<=\s)no\s+", lambda _: "any "),
    _form(r"(?<=\s)nothing\b", lambda _: "anything"),
)
