"""Makes promptfoo's prompts the prompt templates of a matrix, where that asks the same.

A template of this program has one place, `{prompt}`, for the text of a case. So the prompts become
templates if all of them insert the same text of a test: from the first variable to the last. The
cases are then the same whatever stands around it, and an edited prompt is compared with its runs
before. Else each case holds its prompt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from failproof_es.configuration.choices import MOST_VARIANTS, PROMPT
from failproof_es.core.case import Turn
from failproof_es.importers.promptfoo.models import MAX_MODELS
from failproof_es.importers.promptfoo.prompts import Prompt
from failproof_es.importers.promptfoo.templates import (
    TemplateError,
    fill_known,
    paths_in,
    places_in,
    value_of,
)
from failproof_es.importers.promptfoo.tests import Test
from failproof_es.importers.protocol import Findings
from failproof_es.importers.record_values import UnusableRecord

MAX_TEMPLATES = MOST_VARIANTS // MAX_MODELS
"""The most templates: with the most models they make as many variants as a matrix may."""


class NoMatrix(Exception):
    """The prompts cannot become templates that ask the same. `str` is the reason."""


@dataclass(frozen=True, slots=True)
class PromptMatrix:
    """The prompt templates by name, and the template of a case's text."""

    case_text: str
    templates: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class _Split:
    """A prompt whose own part is apart from the part that a test fills in."""

    system: str
    user: str
    case_text: str


def matrix_of(prompts: Sequence[Prompt], tests: Iterable[Test], default: Test) -> PromptMatrix:
    """The templates of the prompts, for these tests.

    `default` is the default test: its variables are filled in where no test changes them. Raises
    `NoMatrix` if the templates would not ask the same, or a prompt cannot be split.
    """
    if len(prompts) > MAX_TEMPLATES:
        raise NoMatrix(f"there are more than {MAX_TEMPLATES}")
    messages = {prompt.name: _messages(prompt) for prompt in prompts}
    variables = _VariableTexts([text for pair in messages.values() for text in pair])
    affixes: set[tuple[str, str]] = set()
    for test in tests:
        if test.prompts is not None and any(p.label not in test.prompts for p in prompts):
            raise NoMatrix("a test names its own prompts")
        affixes.add(test.affixes)
        variables.add(test)
    if len(affixes) > 1:
        raise NoMatrix("the tests have different prefixes or suffixes")
    for prefix, suffix in affixes:
        if (prefix or suffix) and any(not isinstance(p.content, str) for p in prompts):
            raise NoMatrix("a conversation takes no prefix or suffix")
        messages = {
            name: (system, f"{prefix}{user}{suffix}") for name, (system, user) in messages.items()
        }
    constant = variables.constant
    of_default = {path: text for path, text in constant.items() if default.has(path)}
    splits = {
        name: _split(fill_known(system, constant), fill_known(user, of_default))
        for name, (system, user) in messages.items()
    }
    case_texts = {split.case_text for split in splits.values()}
    if len(case_texts) > 1:
        raise NoMatrix("the prompts insert different variables, or the same ones differently")
    return PromptMatrix(
        case_texts.pop(),
        {name: _template(split) for name, split in splits.items()},
    )


def _messages(prompt: Prompt) -> tuple[str, str]:
    """The system text, empty if there is none, and the user text of a prompt."""
    if isinstance(prompt.content, str):
        return "", prompt.content
    try:
        turns = prompt.messages(Findings())
    except UnusableRecord as error:
        raise NoMatrix(str(error)) from None
    match turns:
        case (Turn(role="user", content=user),):
            return "", user
        case (Turn(role="system", content=system), Turn(role="user", content=user)):
            return system, user
    raise NoMatrix("a prompt is a conversation of several turns")


def _split(system: str, user: str) -> _Split:
    if places_in(system):
        raise NoMatrix("a system message differs from test to test")
    places = places_in(user)
    if not places:
        raise NoMatrix("a prompt inserts no variable of the tests")
    if PROMPT in system or PROMPT in user:
        raise NoMatrix(f"a prompt holds {PROMPT}, which stands for a case's text")
    expressions = {user[start:end] for start, end in places}
    if len(expressions) == 1:
        [case_text] = expressions
        template = user.replace(case_text, PROMPT)
    else:
        start, end = places[0][0], places[-1][1]
        case_text, template = user[start:end], f"{user[:start]}{PROMPT}{user[end:]}"
    if f"{{{PROMPT}}}" in template:
        raise NoMatrix("a prompt has braces around a variable")
    return _Split(system, template, case_text)


def _template(split: _Split) -> dict[str, str]:
    return {
        **({"system": split.system} if split.system else {}),
        **({} if split.user == PROMPT else {"user": split.user}),
    }


@dataclass(slots=True)
class _VariableTexts:
    """The texts that the tests insert at the paths of templates, as far as they are the same."""

    templates: Sequence[str]
    _texts: dict[str, str | None] = field(init=False)
    """The one text of each path; `None` if there are several, or a test has none."""
    _is_first: bool = True

    def __post_init__(self) -> None:
        self._texts = {path: None for text in self.templates for path in paths_in(text)}

    def add(self, test: Test) -> None:
        """Add the variables of a test, all values of a list of them."""
        for path, before in self._texts.items():
            if self._is_first or before is not None:
                texts = set(_texts_at(path, test))
                [one, *others] = texts or {None}
                self._texts[path] = one if not others and before in (None, one) else None
        self._is_first = False

    @property
    def constant(self) -> dict[str, str]:
        """The text of each path that has the same one in all tests."""
        return {path: text for path, text in self._texts.items() if text is not None}


def _texts_at(path: str, test: Test) -> Iterator[str | None]:
    """Yield each text that the test inserts at the path; `None` for none."""
    name = path.split(".")[0]
    value: Any = test.variables.get(name)
    values = value if isinstance(value, list) and test.expanded else [value]
    for one in values:
        try:
            yield value_of(path, {name: one} if name in test.variables else {})
        except TemplateError:
            yield None
