"""Checks whether the model that answered is the requested one. Pure.

Nothing is ever substituted (specification 001 §§ 5.1, 7.1), not by a server either: an
answer under another name is an error, however good it is.

Where no `version` is configured, these are not another model:

- an answer that names none: there is nothing to compare;
- the very name that was asked for;
- a snapshot of it, which providers name by a suffix: a date (`gpt-4o` answered by
  `gpt-4o-2024-08-06`, `gpt-4` by `gpt-4-0613`), a serial number (`-002`), or `:latest`.

Where one is, the answer has to show it. Its name has to be one of these:

- the name that was asked for, then `-`, `@` or `:`, then the version and nothing more;
- the version itself, where that begins with the name that was asked for (`gpt-4o-2024-08-06`,
  asked as `gpt-4o` or `gpt-4o-latest`);
- the name that was asked for, where that ends in the version.

A date is the same with and without its dashes (2024-08-06, 20240806); everything else is compared
letter by letter. With `version_check: name` an answer under the very name that was asked for,
or under none, is taken too. One that names another version is an error in any case.
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
_DATE = re.compile(r"(?<!\d)(20\d\d)-(0[1-9]|1[0-2])-([0-3]\d)(?!\d)")


def require_model(
    model: str, version: str | None, answered: str | None, check: VersionCheck = "version"
) -> None:
    """Raise `ModelError` (`model_mismatch`) when another model answered than was asked."""
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
    """Whether the name that answered says that it is the model that was asked."""
    plain_names = () if version is None else map(_plain, _names(model, version))
    if answered is not None and _plain(answered) in plain_names:
        return True
    if answered is None or answered == model:
        return version is None or check == "name"
    if version is not None or not answered.startswith(model):
        return False
    return _SNAPSHOT.fullmatch(answered[len(model) :]) is not None


def _names(model: str, version: str) -> Iterator[str]:
    """What a model of this version may call itself."""
    for sign in _BEFORE_A_VERSION:
        yield f"{model}{sign}{version}"
        if version.startswith(f"{_LATEST.sub('', model)}{sign}"):
            yield version
        if _plain(model).endswith(f"{sign}{_plain(version)}"):
            yield model
    if _plain(model) == _plain(version):
        yield model


def _plain(name: str) -> str:
    return _DATE.sub(r"\1\2\3", name)
