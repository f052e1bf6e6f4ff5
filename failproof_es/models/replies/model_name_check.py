"""Checks whether the model that answered is the requested one. Pure.

No model is ever substituted (specification 001 §§ 5.1, 7.1), not by a server either: an answer
under another name is an error, however good it is.

Without a configured `version`, these answers are accepted:

- an answer without a model name: there is nothing to compare;
- an answer under the requested name;
- an answer under the name of a snapshot, the requested name with a suffix: a date (`gpt-4o`
  answered by `gpt-4o-2024-08-06`, `gpt-4` by `gpt-4-0613`), a serial number (`-002`), or `:latest`.

In both cases OpenRouter's two forms of a name are one: `anthropic/claude-opus-4.6` is listed, and
`anthropic/claude-4.6-opus-20260205` answers. So the numbers of a name with a vendor and a date may
stand at other places among its words. `:nitro` and the like choose servers, not models.

With a configured `version`, the answer has to show it. Its name must be one of these:

- the requested name, then `-`, `@` or `:`, then the version and nothing more;
- the version itself, if it begins with the requested name (`gpt-4o-2024-08-06`, requested as
  `gpt-4o` or `gpt-4o-latest`);
- the requested name, if it ends in the version.

A date is the same with and without its dashes (2024-08-06, 20240806); everything else is compared
letter by letter. `version_check: name` also accepts an answer under the requested name, or without
a name. An answer under another version is always an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from failproof_es.events import VOIDS_ANSWER
from failproof_es.models.protocol import ModelError

VersionCheck = Literal["version", "name"]

_SNAPSHOT = re.compile(
    r"""[-@:](?:
        20\d\d-?(?:0[1-9]|1[0-2])-?[0-3]\d   # a date
        | (?:0[1-9]|1[0-2])[0-3]\d           # month and day
        | 0\d\d                              # a serial number
    ) | :latest""",
    re.VERBOSE,
)
_BEFORE_A_VERSION = ("-", "@", ":")
_LATEST = re.compile(r"[-:]latest$")
_DATED = re.compile(r"(.+)(-20\d\d-?(?:0[1-9]|1[0-2])-?[0-3]\d)")
_ROUTE = re.compile(r":(?:nitro|floor|exacto|online)$")
"""OpenRouter's suffixes that choose servers or add a search."""
_DATE = re.compile(r"(?<!\d)(20\d\d)-(0[1-9]|1[0-2])-([0-3]\d)(?!\d)")


def require_model(
    model: str, version: str | None, answered: str | None, check: VersionCheck = "version"
) -> None:
    """Raise `ModelError` (`model_mismatch`) unless the requested model answered.

    `answered` is the model's name in the answer, `None` without one. `check` `name` also accepts an
    answer that shows no version. The rules are in the module's docstring.
    """
    if is_requested_model(model, version, answered, check):
        return
    description = model if version is None else f"{model}, version {version},"
    came = "the answer names no model" if answered is None else f"{answered} answered"
    message = f"{description} was asked and {came}"
    if answered in (None, model):
        message += ": nothing shows the version (`version_check: name` takes such an answer)"
    raise ModelError(VOIDS_ANSWER, message, "final")


def is_requested_model(
    model: str, version: str | None, answered: str | None, check: VersionCheck = "version"
) -> bool:
    """Whether `answered`, the model's name in an answer, is that of the requested model.

    `None` is an answer without a name. `check` `name` also accepts an answer that shows no version.
    The rules are in the module's docstring.
    """
    if answered is not None:
        model, version, answered = _one_form(model, version, answered)
    plain_names = () if version is None else map(_undash_date, _versioned_names(model, version))
    if answered is not None and _undash_date(answered) in plain_names:
        return True
    if answered is None or answered == model:
        return version is None or check == "name"
    if version is not None or not answered.startswith(model):
        return False
    return _SNAPSHOT.fullmatch(answered[len(model) :]) is not None


def _one_form(model: str, version: str | None, answered: str) -> tuple[str, str | None, str]:
    """The three names without OpenRouter's routes, the last two in the model's order of words."""
    if "/" not in model:
        return model, version, answered
    model, answered = without_route(model), without_route(answered)
    return model, version and _reorder(version, model), _reorder(answered, model)


def without_route(name: str) -> str:
    """The name without OpenRouter's suffix for a choice of servers, which its list lacks."""
    return _ROUTE.sub("", name)


def _reorder(name: str, model: str) -> str:
    """The model's name with the date of `name`, if nothing else but the order of words differs."""
    dated = _DATED.fullmatch(name)
    return model + dated[2] if dated and _sorted_words(dated[1]) == _sorted_words(model) else name


def _sorted_words(name: str) -> tuple[str, list[str]]:
    """The vendor, then the words before the numbers, each in the name's own order."""
    vendor, _, rest = name.partition("/")
    return vendor, sorted(rest.split("-"), key=lambda word: word[:1].isdigit())


def _versioned_names(model: str, version: str) -> Iterator[str]:
    """Yield the names that an answer of this version of the model may have."""
    for sign in _BEFORE_A_VERSION:
        yield f"{model}{sign}{version}"
        if version.startswith(f"{_LATEST.sub('', model)}{sign}"):
            yield version
        if _undash_date(model).endswith(f"{sign}{_undash_date(version)}"):
            yield model
    if _undash_date(model) == _undash_date(version):
        yield model


def _undash_date(name: str) -> str:
    return _DATE.sub(r"\1\2\3", name)
