"""`console`: serves the web pages of the record, read-only."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import click

from failproof_es.cli.app.browser import open_page
from failproof_es.cli.app.console_beside import HOW_TO_SHOW_IT, TOKEN
from failproof_es.cli.app.program import CliCommand, session
from failproof_es.cli.rendering.output import say
from failproof_es.problems import InvalidInput
from failproof_es.support import extras
from failproof_es.support.regular_file import read_regular

_PORT = 8321
_LONGEST_TOKEN = 4_096


@click.command(cls=CliCommand)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Listen on this address. One that others can reach needs a token and --trusted-host.",
)
@click.option(
    "--port",
    type=click.IntRange(min=1, max=65535),
    default=_PORT,
    show_default=True,
    metavar="N",
    help="Listen on this port.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=f"Require the token in FILE of every request.  [default: ${TOKEN}, else a new one]",
)
@click.option(
    "--trusted-host",
    "trusted_hosts",
    multiple=True,
    metavar="NAME",
    help="Answer under this name, too: the one that browsers use. Can be repeated.",
)
@click.option("--open", "open_it", is_flag=True, help="Open the list of runs in a browser.")
def console(
    host: str, port: int, token_file: Path | None, trusted_hosts: tuple[str, ...], open_it: bool
) -> None:
    """Serve the audit console: web pages of all runs, read-only.

    It listens on this machine alone unless --host says otherwise. Its URL holds a new token each
    time, because other users of this machine could open it, too. It reads as failproof_auditor
    where its database user may, and changes nothing but the projections, which it keeps up to
    date. Every page is there as data, too: add `.json` to its path.

    Stop it with Ctrl-C.
    """
    extras.require("console", "the console")
    from failproof_es.console.listening import listen
    from failproof_es.console.server import make_server
    from failproof_es.console.settings import ConsoleSettings, is_loopback, new_token

    configured_token = (
        os.environ.get(TOKEN) or None if token_file is None else _token_in(token_file)
    )
    with session().open_store() as store:
        settings = ConsoleSettings(
            database_url=store.auditor_url,
            follower_url=store.url,
            host=host,
            port=port,
            token=configured_token or (new_token() if is_loopback(host) else None),
            ticket=new_token() if open_it else None,
            trusted_hosts=trusted_hosts,
            warm_up=True,
        )
    page = f"http://{settings.url_host}:{port}/runs"
    url = page if configured_token else f"{page}?token={settings.token}"
    with listen(settings) as listening:
        say(f"the console is at {url} (stop it with Ctrl-C)")
        if configured_token:
            say(HOW_TO_SHOW_IT)
        if open_it:
            open_page(f"{page}?token={settings.ticket}")
        with suppress(KeyboardInterrupt):  # the way to stop it
            make_server(settings).run([listening])


def _token_in(path: Path) -> str:
    try:
        return read_regular(path, _LONGEST_TOKEN).decode("ascii").strip()
    except (OSError, ValueError) as error:
        raise InvalidInput.because(
            "file-unreadable",
            f"the token in {path} cannot be read: {error}",
            remedy="name a file with the token",
        ) from None
