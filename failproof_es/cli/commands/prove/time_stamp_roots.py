"""The certificates by which time stamps count."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from failproof_es.assurance.signing.time_stamping import read_roots
from failproof_es.cli.app.input_files import read_file
from failproof_es.support import extras

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

_MOST_BYTES = 1 << 20


def time_stamp_root_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator that gives a command `--time-stamp-root`; it receives `root_file`."""
    return click.option(
        "--time-stamp-root", "root_file", metavar="FILE",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        help="Require a time stamp (RFC 3161) by an authority under a certificate in FILE (PEM).",
    )(command)  # fmt: skip


def time_stamp_roots(file: Path) -> list[Certificate]:
    """The certificates in a file. Raises `InvalidInput`, also if the extra is missing."""
    extras.require("timestamp", "--time-stamp-root")
    return read_roots(read_file(file, _MOST_BYTES), str(file))
