"""`--otlp` of the commands that drive a run: sends its telemetry while it runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from failproof_es.cli.rendering.output import say
from failproof_es.support import extras

if TYPE_CHECKING:
    from failproof_es.exports.otel.beside import TelemetryBeside
    from failproof_es.store.store import Store

OTLP_HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"
"""The variable with the collector's headers, as OpenTelemetry names it."""


def telemetry_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator that gives a command `--otlp` and `--otel-content`.

    The command receives `otlp: str | None` and `otel_content: bool`.
    """
    content = click.option(
        "--otel-content",
        is_flag=True,
        help="With --otlp: send prompts, answers and reasons, too.",
    )
    endpoint = click.option(
        "--otlp",
        metavar="URL",
        help="Send OpenTelemetry spans and evaluation results to this collector while the run "
        "goes, by a process of its own. Its headers come from OTEL_EXPORTER_OTLP_HEADERS.",
    )
    return endpoint(content(command))


def require_telemetry(otlp: str | None, otel_content: bool, *, detach: bool) -> None:
    """Raise an error if requested telemetry cannot be sent.

    `UsageError` for `otel_content` without `otlp`, and for `otlp` with `--detach`; `InvalidInput`
    if the extra `otel` is not installed or `otlp` is no address.
    """
    if otel_content and otlp is None:
        raise click.UsageError("--otel-content is for --otlp: give both, or none")
    if otlp is None:
        return
    if detach:
        raise click.UsageError(
            "--detach leaves at once, and what sends telemetry would end with that: "
            "`failproof-es export RUN --shape otel` sends it afterwards"
        )
    extras.require("otel", "--otlp")
    from failproof_es.exports.otel.endpoint import require_endpoint

    require_endpoint(otlp, "--otlp")


@contextmanager
def telemetry_beside(
    store: Store, otlp: str | None, otel_content: bool
) -> Iterator[TelemetryBeside | None]:
    """The sender of telemetry to the collector `otlp`; yields `None` if `otlp` is `None`.

    It begins once there is a run. `otel_content` includes prompts and answers.
    """
    if otlp is None:
        yield None
        return
    from failproof_es.exports.otel.beside import TelemetryBeside

    if os.environ.get(OTLP_HEADERS):
        say(f"{OTLP_HEADERS} -> {urlsplit(otlp).netloc}")
    with TelemetryBeside(store.auditor_url, otlp, say, content=otel_content) as telemetry:
        yield telemetry
