"""Whether the model that answered is the model that was asked. Pure.

Nothing is ever substituted (specification 001 §§ 5.1, 7.1), not by a server either: an
answer under another name is an error, however good it is. Not another model are

- an answer that names none: there is nothing to compare;
- the very name that was asked for;
- a snapshot of it, which providers name by a suffix: a date (`gpt-4o` answered by
  `gpt-4o-2024-08-06`, `gpt-4` by `gpt-4-0613`), a serial number (`-002`), or `:latest`.

A configured `version` is compared with that suffix, dashes in dates aside: an answer that
names another one is an error. One that repeats the bare name says nothing about it.
"""

from __future__ import annotations

import re

from failproof_es.events import VOIDS_ANSWER
from failproof_es.models.protocol import ModelError

_SNAPSHOT = re.compile(
    r"""[-@:](?:
        20\d\d-?(?:0[1-9]|1[0-2])-?[0-3]\d   # a date
        | (?:0[1-9]|1[0-2])[0-3]\d           # month and day
        | 0\d\d                              # a serial number
    ) | :latest""",
    re.VERBOSE,
)


def require_model(asked: str, version: str | None, answered: str | None) -> None:
    """Raise `ModelError` (`model_mismatch`) when another model answered than was asked."""
    if not is_asked_model(asked, version, answered):
        wanted = asked if version is None else f"{asked}, version {version},"
        message = f"{wanted} was asked and {answered} answered"
        raise ModelError(VOIDS_ANSWER, message, "final")


def is_asked_model(asked: str, version: str | None, answered: str | None) -> bool:
    """Whether nothing in the name that answered says that it is another model."""
    if answered is None or answered == asked:
        return True
    if not answered.startswith(asked):
        return False
    suffix = answered[len(asked) :]
    if version is not None:
        return suffix[0] in "-@:" and _plain(suffix[1:]) == _plain(version)
    return _SNAPSHOT.fullmatch(suffix) is not None


def _plain(version: str) -> str:
    return version.replace("-", "")
