"""The user's remembered permissions: a file in the user's folder, one permission a line.

`VARIABLE=HOST` permits a variable to go to a host. `class package.module:Name FILE` permits the
class from that file to run; without a file, it permits the class from any file. Lines that begin
with `#` are comments. A user may edit the file; removing a line revokes the permission.
"""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path

from failproof_es.configuration.schema import Configuration
from failproof_es.models.trust.permissions import (
    ClassDemand,
    Demand,
    Permissions,
    VariablePermission,
    demands_of,
    permissions_of,
)
from failproof_es.models.user_code.finding import file_of_class
from failproof_es.problems import InvalidInput, Problem
from failproof_es.support.atomic_file import atomic_write, describe_write_error
from failproof_es.support.file_lock import lock_beside, locked
from failproof_es.support.machine.user_folder import user_folder
from failproof_es.support.regular_file import read_regular

_MOST_BYTES = 1 << 20
_CLASS = "class "
_HEADING = (
    "# What this user allows failproof-es: VARIABLE=HOST, or class package.module:Name FILE\n"
)


def file_of_permissions() -> Path:
    """The path of the file."""
    return user_folder() / "allowed.txt"


def remembered_permissions() -> Permissions:
    """The permissions in `allowed.txt`; without the file, vendors' keys to their own hosts only.

    Raises `InvalidInput` if the file cannot be read, or others can write it.
    """
    path = file_of_permissions()
    pairs, classes = set(), set()
    for line in _read_lines(path):
        if line.startswith(_CLASS):
            name, _, file = line.removeprefix(_CLASS).strip().partition(" ")
            if not file or file.strip() == str(file_of_class(name)):
                classes.add(name)
        elif "=" in line and not line.startswith("#"):
            variable, _, host = line.partition("=")
            pairs.add(VariablePermission(variable.strip(), host.strip()))
    return Permissions(frozenset(pairs), frozenset(classes))


def permissions_here(
    allow: Sequence[str], allow_class: Sequence[str] = (), *, own: bool
) -> Permissions:
    """The permissions from these options and the user's file.

    `own`: the user names the configuration. Raises `InvalidInput` for a malformed option, or if the
    file cannot be read or others can write it.
    """
    permissions = remembered_permissions()
    return permissions_of(allow, allow_class, own=own).and_also(
        permissions.pairs, permissions.classes
    )


def remember(*demands: Demand | ClassDemand) -> None:
    """Add permissions for these demands to the user's file.

    Raises `OSError` if the file cannot be written, and `InvalidInput` if it cannot be read.
    """
    path = file_of_permissions()
    lines = [line for demand in demands if (line := _permission_line(demand)) is not None]
    if set(lines) <= set(_read_lines(path)):
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(lock_beside(path)):
        before = _read_lines(path) or [_HEADING.strip()]
        text = "\n".join(dict.fromkeys([*before, *lines])) + "\n"
        atomic_write(path, [text.encode()], mode=0o600)


def remember_own(configuration: Configuration) -> Problem | None:
    """Remember the user's own configuration's demands beyond the default, so that `resume` works.

    Returns a warning if the file cannot be read or written, else `None`.
    """
    default = Permissions()
    beyond = [demand for demand in demands_of(configuration) if not default.permits(demand)]
    try:
        remember(*beyond)
    except OSError as error:
        return _not_remembered(describe_write_error(file_of_permissions(), error))
    except InvalidInput as error:
        return _not_remembered(error.problems[0].message)
    return None


def _not_remembered(reason: str) -> Problem:
    return Problem(
        "file-unwritable",
        f"{file_of_permissions()} cannot be written ({reason}): `resume` will need --allow",
        severity="warning",
    )


def _permission_line(demand: Demand | ClassDemand) -> str | None:
    """The line of a permission; `None` for a class whose file is missing."""
    if isinstance(demand, ClassDemand):
        file = file_of_class(demand.class_name, demand.folder)
        return None if file is None else f"{_CLASS}{demand.class_name} {file}"
    return str(demand.pair)


def _read_lines(path: Path) -> list[str]:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        text = read_regular(path, _MOST_BYTES).decode("utf-8")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput.because(
            "file-unreadable",
            f"{path} cannot be read: {error}",
            remedy="correct the file, or take it away",
        ) from None
    if mode & 0o022:
        message = f"{path} can be written by others (mode {mode:o})"
        remedy = f"chmod 600 {path}, and look at what it allows"
        raise InvalidInput.because("insecure-path", message, remedy=remedy)
    return [line.strip() for line in text.splitlines() if line.strip()]
