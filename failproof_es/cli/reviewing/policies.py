"""The text by which people decide: read from a file, and shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from failproof_es.cli.app.input_files import read_file
from failproof_es.engine.queues.creating import POLICY
from failproof_es.problems import InvalidInput
from failproof_es.support.untrusted_text import lines

_LARGEST_POLICY = 1 << 16

policy_option = click.option(
    "--policy", "policy_file", type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE", help="The text by which people decide; it is recorded.",
)  # fmt: skip


def policy_in(path: Path | None) -> str:
    """The label policy in this file; the usual one without a file.

    Raises `InvalidInput` if the file is not UTF-8, is larger than 64 KiB, or has no text.
    """
    if path is None:
        return POLICY
    try:
        text = read_file(path, _LARGEST_POLICY).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput.because(
            "not-utf8", f"{path} is not UTF-8 text", remedy="save it as UTF-8"
        ) from None
    if not text.strip():
        raise InvalidInput.because(
            "empty-file", f"{path} has no text", remedy="write how people are to decide"
        )
    return text


def policy_lines(policy: str) -> Iterator[str]:
    """The policy in printable lines, under a heading."""
    yield "the label policy:"
    yield from (f"  {line}" for line in lines(policy).splitlines())
