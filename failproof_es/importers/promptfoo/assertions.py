"""promptfoo's assertions as checks, or as criteria for judges. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from failproof_es.importers.protocol import Check

_NOT = "not-"
_READ_FIELDS = frozenset({"type", "value", "weight", "metric", "threshold", "description"})
CODE = "code is not run"
_CODE = frozenset({"javascript", "python", "ruby", "webhook"})
_LONGEST_NAME = 40
_DROPPED = {
    "metric": "named metrics are not counted here",
    "threshold": "a threshold has no counterpart: all assertions of a case must hold",
    "weight": "a weight has no counterpart: all assertions of a case must hold",
    "provider": "the grader is named under `judges` of a configuration",
    "rubricPrompt": "judges are asked with this program's own prompt",
    "contextTransform": CODE,
    "config": "it is not read",
}


@dataclass(slots=True)
class TestExpectation:
    """What the assertions of a test come to."""

    checks: list[Check] = field(default_factory=list)
    criteria: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    lost: list[tuple[str, str]] = field(default_factory=list)
    """(the field in the assertion, why) of what has no counterpart."""
    undecided: int = 0
    """Assertions of which nothing was taken."""

    @property
    def anything(self) -> bool:
        """Whether something decides."""
        return bool(self.checks or self.criteria or self.refused)


_LIST_ASSERTIONS = frozenset({"contains-any", "icontains-any", "contains-all", "icontains-all"})
_FIELD = re.compile(
    r"""[\s,]*(?:"(?P<quoted>(?:[^"\\]|\\.|"")*+)"\s*(?=,|\Z)|(?P<rest>")|(?P<plain>[^\s,"][^,]*))""",
    re.DOTALL,
)
_ESCAPED = re.compile(r'\\["\\]|""')


class _NoCounterpart(Exception):
    """Why an assertion is not mapped."""


def add(expected: TestExpectation, assertion: Any, fill: Callable[[str], str]) -> None:
    """Add one assertion. `fill` puts a test's variables into a text; it may raise `ValueError`."""
    if not isinstance(assertion, Mapping) or not isinstance(assertion.get("type"), str):
        expected.lost.append(("", "the assertion has no `type`"))
        expected.undecided += 1
        return
    if assertion.get("weight") == 0:
        expected.lost.append(("weight", "its weight is 0: it decides nothing"))
        return
    if assertion.get("transform") is not None:  # it decides on another text than the answer
        expected.lost.append(("transform", CODE))
        expected.undecided += 1
        return
    try:
        _add(expected, assertion["type"], assertion.get("value"), fill)
    except (_NoCounterpart, ValueError) as error:
        expected.lost.append(("", str(error)))
        expected.undecided += 1
        return
    for name in assertion:
        unimportant = name == "weight" and assertion[name] == 1
        if name not in _READ_FIELDS or (name in _DROPPED and not unimportant):
            reason = _DROPPED.get(name, "the key of an assertion is not known here")
            expected.lost.append((str(name)[:_LONGEST_NAME], reason))


def _add(expected: TestExpectation, kind: str, value: Any, fill: Callable[[str], str]) -> None:
    negated = kind.startswith(_NOT)
    plain = kind.removeprefix(_NOT)
    texts = _texts(value, fill, takes_list=plain in _LIST_ASSERTIONS)
    match plain:
        case "equals":
            expected.checks.append(Check("equals", _one(texts), negated))
        case "contains":
            expected.checks.append(Check("contains", _one(texts), negated))
        case "icontains":
            expected.checks.append(Check("contains", _one(texts), negated, ignore_case=True))
        case "starts-with":
            expected.checks.append(Check("begins", _one(texts), negated))
        case "regex":
            expected.checks.append(Check("regex", _one(texts), negated))
        case "contains-any" | "icontains-any":
            ignore_case = plain[0] == "i"
            expected.checks.append(Check("contains", _some(texts), negated, ignore_case))
        case "contains-all" | "icontains-all":
            if negated:
                raise _NoCounterpart(f"`{kind}` has no counterpart: not all of several texts")
            ignore_case = plain[0] == "i"
            expected.checks += [
                Check("contains", (text,), ignore_case=ignore_case) for text in _some(texts)
            ]
        case "llm-rubric" | "model-graded-closedqa":
            (expected.refused if negated else expected.criteria).append(_one(texts)[0])
        case "factuality" | "model-graded-factuality" if not negated:
            expected.criteria.append(f"Agrees in all facts with this: {_one(texts)[0]}")
        case "is-refusal":
            (expected.refused if negated else expected.criteria).append("Declines the request.")
        case _ if plain in _CODE:
            raise _NoCounterpart(f"`{plain}` is code: it is not run")
        case _:
            raise _NoCounterpart(f"`{_name(kind)}` has no counterpart")


def _texts(value: Any, fill: Callable[[str], str], *, takes_list: bool) -> list[str]:
    """The texts of a value, filled in: of assertions on several texts a list, or a text with
    commas; of others the one text."""
    if isinstance(value, str):
        return _fields(fill(value)) if takes_list else [fill(value)]
    if not takes_list and isinstance(value, list):
        raise _NoCounterpart("the value of an assertion on one text is a list")
    values = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(scalar, str | int | float) for scalar in values):
        raise _NoCounterpart("the value of an assertion is neither a text nor a list of texts")
    return [fill(scalar if isinstance(scalar, str) else plain_text(scalar)) for scalar in values]


def _fields(text: str) -> list[str]:
    """The texts between commas. One in quotation marks may hold commas, and marks as `""`."""
    texts = []
    end = 0
    while match := _FIELD.match(text, end):  # to search would begin anew at every white space
        end = match.end()
        if match["rest"] is not None:
            raise _NoCounterpart("a text in quotation marks does not end before a comma")
        if match["quoted"] is not None:
            texts.append(_ESCAPED.sub(lambda mark: mark[0][1], match["quoted"]))
        elif plain := match["plain"].strip():
            texts.append(plain)
    return texts


def plain_text(value: str | int | float | None) -> str:
    """A value of YAML as promptfoo's templates write it."""
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return ""
        case float() if value.is_integer():
            return str(int(value))
        case _:
            return str(value)


def _one(texts: list[str]) -> tuple[str]:
    if len(texts) != 1 or not texts[0]:
        raise _NoCounterpart("the assertion has no text as its `value`")
    return (texts[0],)


def _some(texts: list[str]) -> tuple[str, ...]:
    if not texts or not all(texts):
        raise _NoCounterpart("the assertion has no texts as its `value`")
    return tuple(texts)


def _name(kind: str) -> str:
    """A type that is shown: names of promptfoo's are short words."""
    return kind if re.fullmatch(r"[a-zA-Z0-9:-]{1,40}", kind) else "a type that is no name"


_SHORT = re.compile(
    r"(?P<not>not-)?(?P<type>[a-z][a-z-]*)(?:\((?P<threshold>[\d.]+)\))?(?::(?P<value>.*))?\Z",
    re.DOTALL,
)
_WORDS = frozenset(
    {
        *("equals", "contains", "icontains", "contains-any", "contains-all", "icontains-any"),
        *("icontains-all", "starts-with", "regex", "llm-rubric", "factuality", "is-json"),
        *("contains-json", "is-refusal", "javascript", "python", "similar", "levenshtein"),
        *("latency", "cost", "webhook", "rouge-n", "model-graded-closedqa", "answer-relevance"),
    }
)
_OTHER_NAMES = {"fn": "javascript", "eval": "javascript", "grade": "llm-rubric"}


def of_text(cell: str) -> dict[str, Any]:
    """The assertion that a cell `__expected` of a table of tests says."""
    match = _SHORT.match(cell)
    if match is not None:
        name = _OTHER_NAMES.get(match["type"], match["type"])
        valued = match["value"] is not None
        if name in _WORDS and (valued or name in ("is-json", "contains-json", "is-refusal")):
            assertion: dict[str, Any] = {"type": (match["not"] or "") + name}
            if valued:
                assertion["value"] = match["value"].strip()
            if match["threshold"]:
                assertion["threshold"] = float(match["threshold"])
            return assertion
    return {"type": "equals", "value": cell}
