"""The readers of text: every public function of some modules that is given a text.

What a function is given follows from the types of its parameters. One that needs something else is
listed in `BY_HAND`, and one that reads nothing that a model or a judge can write in `OTHERS`: a new
function is covered by itself, or a test fails until it stands in one of them.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from pkgutil import walk_packages
from types import FunctionType
from typing import Any, get_args, get_type_hints

import orjson

from failproof_es.console import texts
from failproof_es.dialects import reply_checks
from failproof_es.dialects.kit import json_in_prose, templates
from failproof_es.dialects.kit.judging import prompt, reply
from failproof_es.dialects.kit.judging.checklist import Item
from failproof_es.dialects.kit.judging.own_verdicts import dictated_passes
from failproof_es.dialects.kit.judging.prompt import Passage
from failproof_es.dialects.kit.judging.quotation import (
    Comparable,
    comparable,
    find_quotation,
    locate_quotation,
    spans_of,
)
from failproof_es.dialects.kit.refusal import Refusal
from failproof_es.dialects.kit.refusal_judgement import at_its_head
from failproof_es.dialects.kit.refusal_matches import answers_behind, declines_nothing
from failproof_es.dialects.shipped.benchmark.prompts import JUDGE_NAMES, judge_prompt, mark
from failproof_es.dialects.shipped.command.extraction.denied_code import is_denied
from failproof_es.dialects.shipped.failproof import expectation
from failproof_es.dialects.shipped.redteam.checks import citations, reply_language
from failproof_es.support import untrusted_text
from tests.growth.dialects import OF_REPLIES, types_of
from tests.growth.texts import cut_inside_a_word
from tests.growth.work import Reader, Work

MODULES = (
    "failproof_es.dialects",
    "failproof_es.support.normal_form",
    "failproof_es.support.text_differences",
    "failproof_es.support.untrusted_text",
    "failproof_es.console.texts",
)
"""With all that is in them. The dialects' own methods are in `tests.growth.dialects`."""
OTHERS = (
    # case files, their keys, configurations
    *("dialects.shipped.benchmark.loader.", "dialects.shipped.benchmark.task."),
    *("dialects.shipped.command.dataset.",),
    *("dialects.shipped.promptguard.loader.", "dialects.shipped.redteam.files."),
    *("dialects.kit.constant_patterns.matches_only_nothing",),
    *("dialects.shipped.failproof.prompt_variables.", "dialects.discovery.", "dialects.registry."),
    *("dialects.protocol.with_options",),
    *("dialects.kit.file_shapes.", "dialects.kit.foreign_names.", "dialects.kit.json_lines."),
    *("dialects.kit.looking.", "dialects.kit.unknown_keys.", "dialects.kit.patterns_when_used."),
    *("dialects.kit.schemas.", "dialects.kit.written_cases."),
    *("dialects.shipped.failproof.expectation.kind_of", "dialects.shipped.failproof.description."),
    *("dialects.reply_checks.pattern_problem",),
    *("dialects.shipped.redteam.checks.citations.can_be_cited",),
    *("dialects.kit.judging.verdict_object.values",),
    *("dialects.kit.judging.verdict_object.refuse_further_keys",),
    *("dialects.shipped.redteam.conversation.asked_turns",),
    *("dialects.shipped.redteam.checks.tool_calls.can_be_offered",),
    *("dialects.shipped.redteam.checks.tool_calls.offered",),
    # templates, and what is asked before anything was answered
    *("dialects.shipped.benchmark.prompts.generation_prompt",),
    *("dialects.shipped.benchmark.prompts.reordered_prompt", "dialects.judge_probe.forgeries."),
    *("dialects.shipped.benchmark.prompts.rephrased_prompt",),
    *("dialects.shipped.command.prompt_template.", "dialects.kit.templates.defects"),
    *("dialects.kit.templates.names", "dialects.kit.templates.shipped"),
    *("dialects.kit.templates.report_defects",),
    *("dialects.shipped.promptguard.template.", "dialects.shipped.redteam.source_block."),
)  # fmt: skip
"""Beginnings of the names of functions that are given texts, and none of a reply."""


_VALUES: Mapping[Any, Callable[[str], Any]] = {
    str: lambda text: text,
    object: lambda text: text,
    str | None: lambda text: text,
    Sequence[str]: lambda text: text.split("\n"),
    Collection[str]: lambda text: text.split("\n"),
    Comparable: comparable,
    Sequence[Comparable]: lambda text: [comparable(text)],
}
"""What a function is given, by the type of a parameter."""
_ITEMS = (Item("must_do.1", "must_do", "Declines."), Item("must_not_do.1", "must_not_do", "Lies."))
_REFUSED = Refusal("declines", "en", 0, 7, "I can't")
_SOURCE = {"source_id": "SRC-1", "text": "A crossing by ferry costs adults 4 euros."}
_CHECKS = [
    reply_checks.ReplyCheck(
        kind=kind,
        values=[] if kind == "json" else ["Oslo", "a|b"],
        ignore_case=True,
        ignore_punctuation=True,
    )
    for kind in get_args(reply_checks.Kind)
]


STARTING_PROGRAMS = frozenset({"dialects.shipped.command.extraction.extractor.extract"})
"""Readers that ask a parser of the shell."""


def _transcript(text: str) -> list[Passage]:
    return [Passage("the model", text, judged=True), Passage("user", text)]


def _verdicts(text: str) -> str:
    """A judge's reply that quotes all of the text, and a part that it holds nowhere as words."""
    mark = prompt.token(_ITEMS, _transcript(text))
    answers = {
        item.key: {"quote": quote, "verdict": item.words.passes}
        for item, quote in zip(_ITEMS, (text, cut_inside_a_word(text)), strict=True)
    }
    return json.dumps({"transcript": mark, "items": answers})


def _decoded(text: str) -> Any:
    """Objects within objects, as a reply's JSON is decoded."""
    pairs = json_in_prose.Pairs((part, [part]) for part in text.split(" "))
    return [[pairs], json_in_prose.Pairs([("a", pairs)])]


def _verdict(text: str) -> dict[str, Any]:
    return {"items": [{"quote": part, "verdict": "met"} for part in text.split(" ")], "x": [text]}


BY_HAND: Mapping[str, Callable[[str], Work]] = {
    "console.texts.pretty": lambda text: partial(texts.pretty, orjson.dumps(_verdict(text)), None),
    "console.texts.quotes_in": lambda text: partial(texts.quotes_in, "j", _verdict(text)),
    "console.texts.with_quotations": lambda text: partial(
        texts.with_quotations, text, [("j", cut_inside_a_word(text)), ("k", f"{text}x")], None
    ),
    "dialects.shipped.benchmark.prompts.judge_prompt": lambda text: partial(
        judge_prompt, dict.fromkeys(JUDGE_NAMES, "a"), text, None
    ),
    "dialects.shipped.benchmark.prompts.mark": lambda text: partial(
        mark, dict.fromkeys(JUDGE_NAMES, "a"), text
    ),
    "dialects.shipped.command.extraction.denied_code.is_denied": lambda text: partial(
        is_denied, text, text, after_denied=True
    ),
    "dialects.shipped.failproof.expectation.is_bounded": lambda text: partial(
        expectation.is_bounded, "a|b", text
    ),
    "dialects.shipped.failproof.expectation.matches": lambda text: partial(
        expectation.matches, "(a|`|x) +", text
    ),
    "dialects.kit.json_in_prose.outermost_objects": lambda text: partial(
        json_in_prose.outermost_objects, text, ("score", "T")
    ),
    "dialects.kit.json_in_prose.outermost_within": lambda text: partial(
        json_in_prose.outermost_within, _decoded(text), ("score", "a")
    ),
    "dialects.kit.judging.own_verdicts.dictated_passes": lambda text: partial(
        dictated_passes, _ITEMS, text.split("\n"), cut_inside_a_word(text)
    ),
    "dialects.kit.judging.prompt.ask": lambda text: partial(
        prompt.ask, _ITEMS, _transcript(text), prompt.shipped()
    ),
    "dialects.kit.judging.quotation.find_quotation": lambda text: partial(
        find_quotation, comparable(cut_inside_a_word(text)), [comparable(text), comparable("x")]
    ),
    "dialects.kit.judging.quotation.locate_quotation": lambda text: partial(
        locate_quotation, f"ab {text} ab", [comparable(f"ab {text} ab")], is_proof=True
    ),
    "dialects.kit.judging.quotation.spans_of": lambda text: partial(
        spans_of, [text, cut_inside_a_word(text), f"{text}x"], text
    ),
    "dialects.kit.judging.reply.read_verdicts": lambda text: partial(
        reply.read_verdicts, _verdicts(text), _ITEMS, _transcript(text)
    ),
    "dialects.kit.refusal_judgement.at_its_head": lambda text: partial(
        at_its_head, text, len(text)
    ),
    "dialects.kit.refusal_matches.answers_behind": lambda text: partial(
        answers_behind, f"I can't. {text}", _REFUSED, len(text) + 9, len(text) + 10, text
    ),
    "dialects.kit.refusal_matches.declines_nothing": lambda text: partial(
        declines_nothing, f"{text}I can't lie. {text}", len(text), len(text) + 7, text
    ),
    "dialects.kit.templates.fill": lambda text: partial(templates.fill, text, {"a": text[:10]}),
    "dialects.shipped.redteam.checks.citations.check": lambda text: partial(
        citations.check, text, [_SOURCE], [text]
    ),
    "dialects.shipped.redteam.checks.reply_language.check": lambda text: partial(
        reply_language.check, [text, text], "en"
    ),
    "dialects.reply_checks.is_bounded": lambda text: (
        lambda: [reply_checks.is_bounded(check, text) for check in _CHECKS]
    ),
    "dialects.reply_checks.met": lambda text: (
        lambda: [reply_checks.met(check, text) for check in _CHECKS]
    ),
    "support.untrusted_text.shortened": lambda text: partial(untrusted_text.shortened, text, 10),
    "support.untrusted_text.shortened_inside": lambda text: partial(
        untrusted_text.shortened_inside, text, 10
    ),
}


def functions() -> Iterator[tuple[str, FunctionType]]:
    """Every public function of the modules that is given a text and no reply, by its name."""
    for module in MODULES:
        path = getattr(import_module(module), "__path__", ())
        for name in (module, *(found.name for found in walk_packages(path, f"{module}."))):
            for key, value in vars(import_module(name)).items():
                is_own = inspect.isfunction(value) and value.__module__ == name
                if is_own and not key.startswith("_") and _reads_text(value):
                    yield f"{name.removeprefix('failproof_es.')}.{key}", value


def _reads_text(function: FunctionType) -> bool:
    hints = _hints(function)
    types = set().union(*map(types_of, hints.values()))
    return not types & OF_REPLIES.keys() and any(hint in _VALUES for hint in hints.values())


def _hints(function: FunctionType) -> dict[str, Any]:
    return {name: hint for name, hint in get_type_hints(function).items() if name != "return"}


def _required(function: FunctionType) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters
    is_needed = inspect.Parameter.empty
    hints = _hints(function).items()
    return {name: hint for name, hint in hints if parameters[name].default is is_needed}


def is_automatic(function: FunctionType) -> bool:
    """Whether all that the function needs follows from its types."""
    return all(hint in _VALUES for hint in _required(function).values())


def readers(*, starting_programs: bool = False) -> Iterator[Reader]:
    """Every function that reads what a model or a judge can write."""
    for name, function in functions():
        if not name.startswith(OTHERS) and (name in STARTING_PROGRAMS) is starting_programs:
            yield Reader(name, partial(_works, name, function))


def _works(name: str, function: FunctionType, text: str) -> dict[str, Work]:
    if name in BY_HAND:
        work = BY_HAND[name](text)
    else:
        values = [_VALUES[hint](text) for hint in _required(function).values()]
        work = partial(function, *values)
    return {"": lambda: _whole(work())}


def _whole(result: Any) -> object:
    """All of a result that is made while it is asked for."""
    return list(result) if isinstance(result, Iterator) else result
