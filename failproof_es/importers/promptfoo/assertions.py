"""Maps the assertions of promptfoo's cases to checks, or to criteria for judges. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from failproof_es.importers.promptfoo.expressions import python_expression
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


class LostPart(NamedTuple):
    """A part of an assertion without a counterpart: its field, the reason, its words."""

    field: str
    reason: str
    subject: str | None = None


@dataclass(slots=True)
class TestExpectation:
    """The expectation that a test's assertions map to.

    A program decides `checks` and `refusal`. Judges or people decide `criteria`, which an answer
    must meet, and `refused`, which it must not meet.
    """

    checks: list[Check] = field(default_factory=list)
    criteria: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    refusal: bool | None = None
    """Whether the answer must refuse, or must not; `None` if neither is asserted."""
    lost: list[LostPart] = field(default_factory=list)
    undecided: int = 0
    """The number of assertions that were not mapped at all."""

    @property
    def anything(self) -> bool:
        """Whether any assertion decides pass or fail."""
        return bool(self.checks or self.criteria or self.refused) or self.refusal is not None


_LIST_ASSERTIONS = frozenset({"contains-any", "icontains-any", "contains-all", "icontains-all"})
_FIELD = re.compile(
    r"""[\s,]*(?:"(?P<quoted>(?:[^"\\]|\\.|"")*+)"\s*(?=,|\Z)|(?P<rest>")|(?P<plain>[^\s,"][^,]*))""",
    re.DOTALL,
)
_ESCAPED = re.compile(r'\\["\\]|""')


class _NoCounterpart(Exception):
    """The assertion has no counterpart. `str` is the reason."""


def add_assertion(expected: TestExpectation, assertion: Any, fill: Callable[[str], str]) -> None:
    """Add one of promptfoo's assertions to `expected`; if it does not map, to `expected.lost`.

    `fill` fills the test's variables into a text. If it raises `ValueError`, the assertion does not
    map.
    """
    if not isinstance(assertion, Mapping) or not isinstance(assertion.get("type"), str):
        expected.lost.append(LostPart("", "the assertion has no `type`"))
        expected.undecided += 1
        return
    if assertion.get("weight") == 0:
        expected.lost.append(LostPart("weight", "its weight is 0: it decides nothing"))
        return
    # The assertion applies to another text than the answer.
    if assertion.get("transform") is not None:
        expected.lost.append(LostPart("transform", CODE))
        expected.undecided += 1
        return
    try:
        _add_mapped(expected, assertion["type"], assertion.get("value"), fill)
    except (_NoCounterpart, ValueError) as error:
        expected.lost.append(LostPart("", str(error), getattr(error, "expression", None)))
        expected.undecided += 1
        return
    for name in assertion:
        unimportant = name == "weight" and assertion[name] == 1
        if name not in _READ_FIELDS or (name in _DROPPED and not unimportant):
            reason = _DROPPED.get(name, "the key of an assertion is not known here")
            expected.lost.append(LostPart(str(name)[:_LONGEST_NAME], reason))
        # It may change what the assertion decides.
        expected.undecided += name not in _READ_FIELDS | _DROPPED.keys()


def _add_mapped(
    expected: TestExpectation, kind: str, value: Any, fill: Callable[[str], str]
) -> None:
    negated = kind.startswith(_NOT)
    plain = kind.removeprefix(_NOT)
    if plain == "is-json":
        _add_json(expected, value, negated=negated)
        return
    texts = _texts(value, fill, takes_list=plain in _LIST_ASSERTIONS)
    match plain:
        case "equals":
            expected.checks.append(Check("equals", _require_one(texts), negated))
        case "contains":
            expected.checks.append(Check("contains", _require_one(texts), negated))
        case "icontains":
            expected.checks.append(
                Check("contains", _require_one(texts), negated, ignore_case=True)
            )
        case "starts-with":
            expected.checks.append(Check("begins", _require_one(texts), negated))
        case "regex":
            expression = python_expression(_require_one(texts)[0])
            expected.checks.append(Check("regex", (expression,), negated))
        case "contains-any" | "icontains-any":
            ignore_case = plain[0] == "i"
            expected.checks.append(Check("contains", _require_some(texts), negated, ignore_case))
        case "contains-all" | "icontains-all":
            if negated:
                raise _NoCounterpart(f"`{kind}` has no counterpart: not all of several texts")
            ignore_case = plain[0] == "i"
            expected.checks += [
                Check("contains", (text,), ignore_case=ignore_case) for text in _require_some(texts)
            ]
        case "llm-rubric" | "model-graded-closedqa":
            (expected.refused if negated else expected.criteria).append(_require_one(texts)[0])
        case "factuality" | "model-graded-factuality" if not negated:
            expected.criteria.append(f"Agrees in all facts with this: {_require_one(texts)[0]}")
        case "is-refusal":
            if expected.refusal is negated:
                raise _NoCounterpart("asks for a refusal, and another assertion for none")
            expected.refusal = not negated
        case _ if plain in _CODE:
            raise _NoCounterpart(f"`{plain}` is code: it is not run")
        case _:
            raise _NoCounterpart(f"`{_display_name(kind)}` has no counterpart")


def _add_json(expected: TestExpectation, value: Any, *, negated: bool) -> None:
    """The check whether the answer is JSON. A schema is not checked, which makes it easier to meet;
    negated it would be harder, so that it does not map."""
    if value is not None and negated:
        raise _NoCounterpart("`not-is-json` with a schema has no counterpart")
    expected.checks.append(Check("json", (), negated))
    if value is not None:
        reason = "the schema is not checked, only whether the answer is JSON"
        expected.lost.append(LostPart("value", reason))
        expected.undecided += 1


def _texts(value: Any, fill: Callable[[str], str], *, takes_list: bool) -> list[str]:
    """The texts of an assertion's value, with variables filled in by `fill`.

    One text, or, if `takes_list`, those of a list or of a text with commas. Raises `_NoCounterpart`
    if the value is anything else.
    """
    if isinstance(value, str):
        return _split_fields(fill(value)) if takes_list else [fill(value)]
    if not takes_list and isinstance(value, list):
        raise _NoCounterpart("the value of an assertion on one text is a list")
    values = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(scalar, str | int | float) for scalar in values):
        raise _NoCounterpart("the value of an assertion is neither a text nor a list of texts")
    return [fill(scalar if isinstance(scalar, str) else plain_text(scalar)) for scalar in values]


def _split_fields(text: str) -> list[str]:
    """The texts between commas. A quoted text may hold commas, and quotation marks as `""`.

    Raises `_NoCounterpart` if a quoted text does not end before a comma or the end.
    """
    texts = []
    end = 0
    while match := _FIELD.match(text, end):  # `search` would start again at every white space
        end = match.end()
        if match["rest"] is not None:
            raise _NoCounterpart("a text in quotation marks does not end before a comma")
        if match["quoted"] is not None:
            texts.append(_ESCAPED.sub(lambda mark: mark[0][1], match["quoted"]))
        elif plain := match["plain"].strip():
            texts.append(plain)
    return texts


def plain_text(value: str | int | float | None) -> str:
    """A YAML value in the form of promptfoo's templates."""
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return ""
        case float() if value.is_integer():
            return str(int(value))
        case _:
            return str(value)


def _require_one(texts: list[str]) -> tuple[str]:
    if len(texts) != 1 or not texts[0]:
        raise _NoCounterpart("the assertion has no text as its `value`")
    return (texts[0],)


def _require_some(texts: list[str]) -> tuple[str, ...]:
    if not texts or not all(texts):
        raise _NoCounterpart("the assertion has no texts as its `value`")
    return tuple(texts)


def _display_name(kind: str) -> str:
    """The type as shown in messages, if it looks like one of promptfoo's short names."""
    return kind if re.fullmatch(r"[a-zA-Z0-9:-]{1,40}", kind) else "a type that is no name"


_SHORT_FORM = re.compile(
    r"(?P<not>not-)?(?P<type>[a-z][a-z0-9-]*)"
    r"(?:\((?P<threshold>[0-9]+(?:\.[0-9]+)?)\))?(?::(?P<value>.*))?\Z",
    re.DOTALL,
)
_TYPES = frozenset(
    {
        *("answer-relevance", "bleu", "classifier", "contains", "contains-all", "contains-any"),
        *("contains-html", "contains-json", "contains-sql", "contains-xml"),
        *("context-faithfulness", "context-recall", "context-relevance"),
        *("conversation-relevance", "cost", "equals", "factuality", "finish-reason", "g-eval"),
        *("gleu", "guardrails", "icontains", "icontains-all", "icontains-any", "is-html"),
        *("is-json", "is-refusal", "is-sql", "is-valid-function-call"),
        *("is-valid-openai-function-call", "is-valid-openai-tools-call", "is-xml", "javascript"),
        *("latency", "levenshtein", "llm-rubric", "max-score", "meteor", "model-graded-closedqa"),
        *("model-graded-factuality", "moderation", "perplexity", "perplexity-score", "pi"),
        *("python", "regex", "rouge-l", "rouge-n", "rouge-s", "ruby", "search-rubric"),
        *("select-best", "similar", "skill-used", "starts-with", "tool-call-f1"),
        *("trace-error-spans", "trace-span-count", "trace-span-duration", "trajectory"),
        *("webhook", "word-count"),
    }
)
"""The types of all versions of promptfoo, each up to its first colon (`trajectory:step-count`)."""
_TYPE_ALIASES = {"fn": "javascript", "eval": "javascript", "grade": "llm-rubric"}
"""Types of older versions, with a value."""


def of_text(cell: str) -> dict[str, Any]:
    """The assertion of a cell `__expected` in a table of tests: `contains:Paris`.

    A cell of no known form is an assertion that the answer equals its text.
    """
    match = _SHORT_FORM.match(cell)
    kind = None if match is None else _type_in(match)
    if match is None or kind is None:
        return {"type": "equals", "value": cell}
    assertion: dict[str, Any] = {"type": (match["not"] or "") + kind}
    if match["value"] is not None:
        value = match["value"].strip()
        is_list = kind in _LIST_ASSERTIONS
        assertion["value"] = [text.strip() for text in value.split(",")] if is_list else value
    if match["threshold"]:
        assertion["threshold"] = float(match["threshold"])
    return assertion


def _type_in(match: re.Match[str]) -> str | None:
    """The type of an assertion in its short form; `None` for a text that only looks like one.

    An unknown word with a hyphen and a threshold or a value, `new-type(0.5): x`, is a type of a
    later version: it has no counterpart, and no answer would equal it.
    """
    word = match["type"]
    valued = match["value"] is not None
    if valued and word in _TYPE_ALIASES:
        return _TYPE_ALIASES[word]
    is_unknown_type = "-" in word and (valued or match["threshold"] is not None)
    return word if word in _TYPES or is_unknown_type else None
