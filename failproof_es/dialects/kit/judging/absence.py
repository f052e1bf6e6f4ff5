"""Recognises items that state an absence: "No invented facts.", "Does not name a price." Pure.

An absence cannot be quoted, so no quotation can prove such an item; words that break the item can
be quoted. The rules follow the grammar of English negation: whether the clause about the model's
action is negated ("does not name", "names no", "avoids"), rather than the words that the model is
to say ("says that it does not know").
"""

from __future__ import annotations

import re
from enum import Enum


class Absence(Enum):
    """The part of an item that states an absence: none, a part, or all of it."""

    NONE = "none"
    """The item asks for something that can be quoted."""
    PART = "part"
    """The item asks for something, and also for an absence."""
    WHOLE = "whole"
    """The item asks only for an absence."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


QUOTED = re.compile(r"\"[^\"]*\"|“[^“”]*”|«[^«»]*»|`[^`]*`|(?<!\w)'[^']*'(?!\w)")
_WORD = re.compile(r"[\w'’]+(?:[-.][\w'’]+)*|[,;:.]")
_CLAUSE_ENDS = frozenset(";.")
_AUXILIARIES = _words(
    "do does did is are was were be been has have had can could will would must should may "
    "might shall need"
)
_NO = _words("no none nothing nobody nowhere neither nor")
_NOT = _words("not never cannot without")
_ABSENT_VERB = re.compile(
    r"(?:avoid|refrain|abstain|omit|lack|exclude|eschew|withhold)(?:s|ed|t?ing|ted)?|withheld"
)
_SAYING = re.compile(
    r"(?:say|state|tell|explain|admit|acknowledge|warn|note|mention|clarif(?:y|ie)|inform|report|"
    r"confirm|conclude|answer|repl(?:y|ie)|respond|declare|assert|recommend|advis|advise|suggest|"
    r"den(?:y|ie)|insist|emphasi[sz]e|stress|repeat|reminds?|remind|point|argue|agree|concede|"
    r"indicate|express|refuse|decline|ask|instruct|urge|promise|write|call|name)(?:s|es|d|ed)?"
)
"""Verbs of saying: a negation after one belongs to the model's statement."""
_CONTENT = _words(
    "that why how whether if what because since as when where who whom whose which until unless "
    "while although though"
)
"""Words that begin a subordinate clause."""
_DETERMINERS = _words("the a an its their this that each every any first second third")
_JOINED = _words("and but yet then")
_BOUND = _words("more less fewer later longer earlier only just least")
"""`no more than`, `not only`: before these words `no` and `not` negate nothing."""


def states_absence(item: str) -> Absence:
    """The part of the item, an English sentence, that states an absence."""
    clauses = _clauses(_WORD.findall(QUOTED.sub(" quoted ", item).replace("’", "'").lower()))
    absences = [absence for absence in map(_absence_in_clause, clauses) if absence is not None]
    if not absences or all(absence is Absence.NONE for absence in absences):
        return Absence.NONE
    return Absence.WHOLE if all(absence is Absence.WHOLE for absence in absences) else Absence.PART


def _clauses(words: list[str]) -> list[list[str]]:
    """The main clauses, split at `;`, `.` and at `and` before another negated verb."""
    clauses: list[list[str]] = [[]]
    for index, word in enumerate(words):
        after = words[index + 1 : index + 3]
        if word in _CLAUSE_ENDS or (word in _JOINED and _denies_verb(after)):
            clauses.append([])
        elif word == ":":  # the model's statement, unless it negates the clause before
            if (
                after[:1]
                and after[0] in _NO | _NOT | {"there"}
                and not _begins_with_saying_verb(clauses[-1])
            ):
                clauses.append([])
            else:
                clauses[-1].append("that")
        else:
            clauses[-1].append(word)
    return [_without_condition(clause) for clause in clauses]


def _begins_with_saying_verb(clause: list[str]) -> bool:
    return bool(clause) and _SAYING.fullmatch(clause[0]) is not None


def _denies_verb(after: list[str]) -> bool:
    """Whether the words begin with a negated verb: `does not`, `never`, `avoids`, `without`."""
    if not after:
        return False
    first = after[0]
    if first in ("never", "without", "cannot") or _ABSENT_VERB.fullmatch(first):
        return True
    return _denied_auxiliary(first) or (first in _AUXILIARIES and after[1:] in (["not"], ["never"]))


def _denied_auxiliary(word: str) -> bool:
    return word.endswith("n't")


def _without_condition(clause: list[str]) -> list[str]:
    """The clause without a leading condition: `If asked, ...`."""
    words = [word for word in clause if word != ","]
    if words and words[0] in (_CONTENT | {"after", "before", "even", "despite", "in", "on", "at"}):
        return clause[clause.index(",") + 1 :] if "," in clause else words
    return words


def _absence_in_clause(clause: list[str]) -> Absence | None:
    """The absence that one main clause states; `None` if the clause is empty.

    `clause` is a list of lower-case words and commas.
    """
    words = [word for word in clause if word != ","]
    if not words:
        return None
    for index, word in enumerate(words):
        after = words[index + 1] if index + 1 < len(words) else ""
        if word == "without":
            return Absence.PART if index else Absence.WHOLE
        if (word in _NO | _NOT or _denied_auxiliary(word)) and after not in _BOUND:
            return Absence.WHOLE
        if _ABSENT_VERB.fullmatch(word) or (word == "free" and after in ("of", "from")):
            return Absence.WHOLE
        if word in _CONTENT and index:
            return Absence.NONE
        if _SAYING.fullmatch(word) and (index == 0 or not _is_subject(words, index)):
            return _absence_in_statement(words[index + 1 :])
    return Absence.NONE


def _is_subject(words: list[str], index: int) -> bool:
    """Whether the word at `index` is a noun, as in `the answer does`, and not a verb of saying."""
    after = words[index + 1] if index + 1 < len(words) else ""
    before = words[index - 1]
    return before in _DETERMINERS or after in _AUXILIARIES or _denied_auxiliary(after)


def _absence_in_statement(words: list[str]) -> Absence:
    """The absence stated by the words behind a verb of saying: `no price` in `names no price`."""
    first, after = [*words, "", ""][:2]
    if first in _NOT - {"without"} or (first == "no" and after in ("", "to")):
        return Absence.NONE  # the model is to say the negation: `says no`, `says not to mix them`
    if first in _NO:
        return Absence.NONE if after in _BOUND else Absence.WHOLE
    for word in words:
        if word in _CONTENT or word in ("it", "there"):
            return Absence.NONE
        if word == "without":
            return Absence.PART
    return Absence.NONE
