"""`projections`: the read models beside the log."""

from __future__ import annotations

import click

from failproof_es.cli.program import Group


@click.group(cls=Group)
def projections() -> None:
    pass
