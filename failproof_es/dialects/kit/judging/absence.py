"""Items that state an absence: "No invented facts.", "Does not name a price." Pure.

What is not there cannot be quoted, so no quotation can prove such an item; what breaks it
can be. Looked at is the grammar of English, whose words for no are few: whether the clause
that says what the model does is denied ("does not name", "names no", "avoids"), and not
what the model is to say ("says that it does not know").
"""

from __future__ import annotations

import re
from enum import Enum


class Absence(Enum):
    """How far an item states an absence."""

    NONE = "none"
    """It asks for something, whose words can be quoted."""
    PART = "part"
    """It asks for something, and for an absence besides."""
    WHOLE = "whole"
    """It asks for an absence alone."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_QUOTED = re.compile(r"\"[^\"]*\"|“[^“”]*”|«[^«»]*»|`[^`]*`|(?<!\w)'[^']*'(?!\w)")
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
"""What the model says follows these: a no in there is the model's."""
_CONTENT = _words(
    "that why how whether if what because since as when where who whom whose which until unless "
    "while although though"
)
"""These begin a clause within the clause."""
_DETERMINERS = _words("the a an its their this that each every any first second third")
_JOINED = _words("and but yet then")
_BOUND = _words("more less fewer later longer earlier only just least")
"""`no more than`, `not only`: a measure, which denies nothing."""


def states_absence(item: str) -> Absence:
    """How far the item, an English sentence, states an absence."""
    clauses = _clauses(_WORD.findall(_QUOTED.sub(" quoted ", item).replace("’", "'").lower()))
    absences = [absence for absence in map(_of_clause, clauses) if absence is not None]
    if not absences or all(absence is Absence.NONE for absence in absences):
        return Absence.NONE
    return Absence.WHOLE if all(absence is Absence.WHOLE for absence in absences) else Absence.PART


def _clauses(words: list[str]) -> list[list[str]]:
    """The main clauses: parted by `;` and `.`, and by `and` before what denies a verb again."""
    clauses: list[list[str]] = [[]]
    for index, word in enumerate(words):
        after = words[index + 1 : index + 3]
        if word in _CLAUSE_ENDS or (word in _JOINED and _denies_verb(after)):
            clauses.append([])
        elif word == ":":  # after it stands what is said, unless it denies the clause before it
            if after[:1] and after[0] in _NO | _NOT | {"there"} and not _says(clauses[-1]):
                clauses.append([])
            else:
                clauses[-1].append("that")
        else:
            clauses[-1].append(word)
    return [_without_condition(clause) for clause in clauses]


def _says(clause: list[str]) -> bool:
    return bool(clause) and _SAYING.fullmatch(clause[0]) is not None


def _denies_verb(after: list[str]) -> bool:
    """`does not`, `never`, `avoids`, `without`: what begins here has a verb of its own."""
    if not after:
        return False
    first = after[0]
    if first in ("never", "without", "cannot") or _ABSENT_VERB.fullmatch(first):
        return True
    return _denied_auxiliary(first) or (first in _AUXILIARIES and after[1:] in (["not"], ["never"]))


def _denied_auxiliary(word: str) -> bool:
    return word.endswith("n't")


def _without_condition(clause: list[str]) -> list[str]:
    """Without what comes before a comma and only says when: `If asked, ...`."""
    words = [word for word in clause if word != ","]
    if words and words[0] in (_CONTENT | {"after", "before", "even", "despite", "in", "on", "at"}):
        return clause[clause.index(",") + 1 :] if "," in clause else words
    return words


def _of_clause(clause: list[str]) -> Absence | None:
    """What one main clause states; `None` where it is empty."""
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
            return _of_saying(words[index + 1 :])
    return Absence.NONE


def _is_subject(words: list[str], index: int) -> bool:
    """Whether the word is a noun that somebody does something by: `the answer does`."""
    after = words[index + 1] if index + 1 < len(words) else ""
    before = words[index - 1]
    return before in _DETERMINERS or after in _AUXILIARIES or _denied_auxiliary(after)


def _of_saying(words: list[str]) -> Absence:
    """After a verb of saying: `no` right there denies it, as in `names no price`."""
    first, after = [*words, "", ""][:2]
    if first in _NOT - {"without"} or (first == "no" and after in ("", "to")):
        return Absence.NONE  # the word itself is said: `says no`, `says not to mix them`
    if first in _NO:
        return Absence.NONE if after in _BOUND else Absence.WHOLE
    for word in words:
        if word in _CONTENT or word in ("it", "there"):
            return Absence.NONE
        if word == "without":
            return Absence.PART
    return Absence.NONE
