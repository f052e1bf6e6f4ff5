"""`workers`: the processes that drive runs together, and the work of each."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click
import psycopg

from failproof_es.cli.app.program import CliCommand, session
from failproof_es.cli.rendering.output import (
    Column,
    Format,
    columns_of_keys,
    format_option,
    print_rows,
    print_table,
    say,
)
from failproof_es.engine.workers.presence import (
    WorkerRecord,
    clear_limits,
    list_shares,
    list_workers,
)
from failproof_es.problems import InvalidInput
from failproof_es.store.reading.reader import Connection
from failproof_es.store.schema.queue_schema import has_queue
from failproof_es.support.plurals import plural

_COLUMNS = (
    Column("worker", "worker_shown"),
    Column("user", "who"),
    Column("host", "host"),
    Column("process", "process", right=True),
    Column("since", "since"),
    Column("shards", "shards_shown"),
    Column("finished", "finished", right=True),
    Column("rate/s", "rate_shown", right=True),
    Column("heard of", "heard_shown"),
)


_LIMITS = (
    *columns_of_keys("server", "key"),
    Column("worker", "holder"),
    Column("at once", "concurrency", right=True),
    *columns_of_keys("wanted", "requests", "tokens", right=True),
    *columns_of_keys("now"),
)


@click.command(cls=CliCommand)
@click.option(
    "--clear",
    metavar="KEY",
    help="End all shares of this key's limits, and ask its server at once. Workers that live state "
    "their shares again within a second.",
)
@format_option()
def workers(clear: str | None, output_format: Format) -> None:
    """List the workers, and the work of each.

    \b
    shards    what it holds now: the number of the run, and of the shard
    finished  the evaluations that ended there
    rate/s    of them, lately
    heard of  how long ago it last said that it works; one that was killed is listed for a day

    Below stand the runs that a worker refuses, each with its reason, such as the option that its
    host would have to be given.

    Then come the limits that they share, where there are any: how many requests each may have in
    flight at once, and how many it wants. Its requests and tokens of the minute are those that it
    has in hand.

    A run that one process drives alone has no worker: `runs` says who drives it.
    """
    with session().open_store() as store, store.lend() as connection:
        if clear is not None:
            _clear(connection, clear)
            return
        rows = list(map(_row, list_workers(connection))) if has_queue(connection) else []
        shares = [asdict(share) for share in list_shares(connection)]
    for row in rows:
        holder = row.pop("holder")
        row["limits"] = [share for share in shares if share["holder"] == holder]
    if output_format is Format.TABLE:
        nothing = "no workers; start one: `failproof-es worker`"
        print_table(map(_for_people, rows), _COLUMNS, when_empty=nothing)
        for row in rows:
            for refusal in row["refuses"]:
                click.echo(f"worker {row['worker_id'][:8]} refuses {refusal}")
        if shares:
            print_table([{**share, "now": _share_status(share)} for share in shares], _LIMITS)
    else:
        print_rows(rows, _COLUMNS, output_format)


def _clear(connection: Connection, key: str) -> None:
    """End all shares of the limits of the provider key that `key` names.

    `key` is the beginning of the key's digest, 8 hexadecimal digits or more. Raises `InvalidInput`
    if there is no such key.
    """
    remedy = "`failproof-es workers` lists the keys whose limits are shared"
    try:
        cleared = clear_limits(connection, key.lower())
    except psycopg.errors.InvalidParameterValue:
        message = f"--clear {key} is not the beginning of a key: 8 hexadecimal digits or more"
        raise InvalidInput.because("invalid-option", message, remedy=remedy) from None
    if not cleared:
        raise InvalidInput.because("unknown-api-key", f"no key begins with {key}", remedy=remedy)
    for server, shares in cleared:
        say(f"{server}: {plural(shares, 'share')} ended; it may be asked at once")


def _row(worker: WorkerRecord) -> dict[str, Any]:
    return asdict(worker) | {
        "worker_id": str(worker.worker_id),
        "gone": worker.gone,
        "silent_s": round(worker.silent_s, 1),
        "per_second": None if worker.per_second is None else round(worker.per_second, 2),
    }


def _share_status(share: dict[str, Any]) -> str | None:
    if share["held_s"] >= 1:
        return f"left alone for {share['held_s']:.0f} s"
    return "waits" if share["waiting"] else None


def _for_people(row: dict[str, Any]) -> dict[str, Any]:
    silent = f"{row['silent_s']:.0f} s ago"
    return {
        **row,
        "worker_shown": row["worker_id"][:8],
        "shards_shown": ", ".join(row["shards"]) or None,
        "rate_shown": None if row["per_second"] is None else f"{row['per_second']:.1f}",
        "heard_shown": f"{silent}: gone" if row["gone"] else silent,
    }
