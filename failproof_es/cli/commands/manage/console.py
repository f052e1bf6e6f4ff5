"""`console`: serves the web pages of the record, read-only or for people who log in."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from failproof_es.cli.app.browser import open_page
from failproof_es.cli.app.console_beside import HOW_TO_SHOW_IT, TOKEN
from failproof_es.cli.app.program import CliCommand, session
from failproof_es.cli.rendering.output import say
from failproof_es.problems import InvalidInput
from failproof_es.support import extras
from failproof_es.support.machine.user_folder import user_folder
from failproof_es.support.regular_file import read_regular

if TYPE_CHECKING:
    from failproof_es.console.settings import PeopleSettings

SESSIONS = "console-sessions.sqlite"
"""File of the user's folder in which a console keeps the sessions of people."""
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
@click.option(
    "--review",
    is_flag=True,
    help="Let people log in and review. Needs --accounts or --login-header. A token then opens "
    "/metrics alone.",
)
@click.option(
    "--accounts",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With --review: people log in with the accounts in FILE (`console-account` writes it).",
)
@click.option(
    "--login-header",
    metavar="NAME",
    help="With --review: a proxy logs people in, and sends their name in the header NAME.",
)
@click.option(
    "--proxy-secret-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With --login-header: the proxy sends the secret in FILE in the header "
    "X-Failproof-Proxy-Secret. Requests without it are refused.",
)
@click.option(
    "--record-reads",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="With --review: record in FILE who looks at which page, and when, one JSON object a line.",
)
@click.option("--open", "open_it", is_flag=True, help="Open the list of runs in a browser.")
def console(
    host: str,
    port: int,
    token_file: Path | None,
    trusted_hosts: tuple[str, ...],
    open_it: bool,
    review: bool,
    accounts: Path | None,
    login_header: str | None,
    proxy_secret_file: Path | None,
    record_reads: Path | None,
) -> None:
    """Serve the audit console: web pages of all runs, read-only without --review.

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

    people = _people(
        review,
        accounts=accounts,
        login_header=login_header,
        proxy_secret_file=proxy_secret_file,
        record_reads=record_reads,
    )
    configured_token = (
        os.environ.get(TOKEN) or None if token_file is None else _token_in(token_file)
    )
    needs_token = people is None
    with session().open_store() as store:
        settings = ConsoleSettings(
            database_url=store.auditor_url,
            follower_url=store.url,
            host=host,
            port=port,
            token=configured_token or (new_token() if needs_token and is_loopback(host) else None),
            ticket=new_token() if needs_token and open_it else None,
            people=people,
            trusted_hosts=trusted_hosts,
            warm_up=True,
        )
    page = f"http://{settings.url_host}:{port}/runs"
    url = page if configured_token or people else f"{page}?token={settings.token}"
    with listen(settings) as listening:
        say(f"the console is at {url} (stop it with Ctrl-C)")
        if configured_token and needs_token:
            say(HOW_TO_SHOW_IT)
        if open_it:
            open_page(f"{page}?token={settings.ticket}" if settings.ticket else page)
        with suppress(KeyboardInterrupt):  # the way to stop it
            make_server(settings).run([listening])


def _people(
    review: bool,
    *,
    accounts: Path | None,
    login_header: str | None,
    proxy_secret_file: Path | None,
    record_reads: Path | None,
) -> PeopleSettings | None:
    """How people log in; `None` without --review. Raises `InvalidInput` for options that lack."""
    from failproof_es.console.settings import PeopleSettings

    if review:
        return PeopleSettings(
            sessions=user_folder() / SESSIONS,
            accounts=accounts,
            login_header=login_header,
            proxy_secret=None
            if proxy_secret_file is None
            else _token_in(proxy_secret_file, "secret of the proxy"),
            reads=record_reads,
        )
    if accounts or login_header or proxy_secret_file or record_reads:
        raise InvalidInput.because(
            "missing-option",
            "--accounts, --login-header, --proxy-secret-file and --record-reads need --review",
            remedy="add --review: people who log in can write reviews",
        )
    return None


def _token_in(path: Path, what: str = "token") -> str:
    try:
        return read_regular(path, _LONGEST_TOKEN).decode("ascii").strip()
    except (OSError, ValueError) as error:
        raise InvalidInput.because(
            "file-unreadable",
            f"the {what} in {path} cannot be read: {error}",
            remedy=f"name a file with the {what}",
        ) from None
