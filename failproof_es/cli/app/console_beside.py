"""`--console` of the commands that drive a run: a console that runs beside the run."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from failproof_es.cli.app.browser import open_page
from failproof_es.cli.app.options import all_of
from failproof_es.cli.app.process import termination_signals
from failproof_es.cli.rendering.output import say

if TYPE_CHECKING:
    from failproof_es.console.beside.process import ConsoleBeside
    from failproof_es.store.store import Store

TOKEN = "FAILPROOF_ES_CONSOLE_TOKEN"  # noqa: S105 - the name of a variable
HOW_TO_SHOW_IT = "in a browser add ?token=TOKEN once; programs send `Authorization: Bearer TOKEN`"
PORT_OPTION = "--console-port"


console_options = all_of(
    click.option(
        "--console",
        is_flag=True,
        help="Serve the console meanwhile, on this machine alone, in a process of its own, and "
        "print the address of the run's page. At a terminal it stays open after the run until "
        "Ctrl-C; elsewhere, and with --quiet or --json, it ends with the run.",
    ),
    click.option(
        PORT_OPTION,
        type=click.IntRange(min=1, max=65535),
        metavar="N",
        help="With --console: listen on this port.  [default: any free one]",
    ),
    click.option(
        "--open",
        "open_it",
        is_flag=True,
        help="Open the run's page in a browser: the same as --console, and the browser shows the "
        "run while it goes on.",
    ),
)


@dataclass(slots=True)
class RunConsole:
    """The console of `--console`, which runs in a separate process beside the run."""

    console: ConsoleBeside
    new_token: str | None
    """Shown with each URL; `None` if the user chose the token, which is then not shown."""
    ticket: str | None
    """Accepted once in place of the token: with it a browser opens the run's page."""
    _is_shown: bool = False

    def show(self, run_number: int) -> None:
        """Serve the console, and print the address of this run's page.

        Only the first call does so.
        """
        if not self._is_shown:
            self._is_shown = True
            self.console.begin()
            page = f"{self.console.url}/runs/{run_number}"
            say(f"the console shows this run at {page}{self._query}")
            if self.new_token is None:
                say(HOW_TO_SHOW_IT)
            if self.ticket is not None:
                open_page(f"{page}?token={self.ticket}")

    def stay(self) -> None:
        """Serve the console until Ctrl-C or another signal; not at all if it was never shown."""
        if not self._is_shown:
            return
        say(f"the console stays open at {self.console.url}/runs{self._query}; Ctrl-C ends it")
        for number in termination_signals():
            signal.signal(number, signal.default_int_handler)
        with suppress(KeyboardInterrupt):
            self.console.wait()

    @property
    def _query(self) -> str:
        return "" if self.new_token is None else f"?token={self.new_token}"


@contextmanager
def console_beside(
    store: Store, console: bool, port: int | None, *, open_it: bool
) -> Iterator[RunConsole | None]:
    """The requested console, listening; it serves once there is a run to show.

    Yields `None` if neither `console` nor `open_it` is true. `port` is by default any free one.
    With `open_it` a browser opens the run's page. Raises `InvalidInput` if the console cannot
    listen.
    """
    if not (console or open_it):
        yield None
        return
    from failproof_es.console.beside.process import ConsoleBeside
    from failproof_es.console.settings import ConsoleSettings, new_token

    configured_token = os.environ.get(TOKEN)
    settings = ConsoleSettings(
        database_url=store.auditor_url,
        follower_url=store.url,
        port=port or 0,
        token=configured_token or new_token(),
        ticket=new_token() if open_it else None,
    )
    with ConsoleBeside(settings, PORT_OPTION, say) as console_process:
        new = None if configured_token else settings.token
        yield RunConsole(console_process, new, settings.ticket)
