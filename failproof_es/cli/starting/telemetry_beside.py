"""`--otlp` of the commands that drive runs: sends their telemetry while they run.

`OTEL_EXPORTER_OTLP_ENDPOINT` does the same without the option.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from failproof_es.cli.app.options import all_of
from failproof_es.cli.rendering.output import say
from failproof_es.cli.usage import WrongUsage
from failproof_es.problems import InvalidInput
from failproof_es.support import extras

if TYPE_CHECKING:
    from failproof_es.events import Event
    from failproof_es.exports.otel.beside import TelemetryBeside
    from failproof_es.store.store import Store

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
"""The variable with the collector's address, as OpenTelemetry names it."""
HEADERS = (
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    "OTEL_EXPORTER_OTLP_LOGS_HEADERS",
)
"""The variables with the collector's headers, which may hold a key."""
_DISABLED, _PROTOCOL = "OTEL_SDK_DISABLED", "OTEL_EXPORTER_OTLP_PROTOCOL"


telemetry_options = all_of(
    click.option(
        "--otlp",
        metavar="URL",
        help="Send OpenTelemetry spans and evaluation results to this collector while the run "
        "goes, by a process of its own. Its headers come from OTEL_EXPORTER_OTLP_HEADERS.  "
        f"[default: ${ENDPOINT}, else none]",
    ),
    click.option(
        "--otel-content",
        is_flag=True,
        help="With --otlp: send prompts, answers and reasons, too.",
    ),
)


def collector_of(otlp: str | None, otel_content: bool, *, detach: bool) -> str | None:
    """The address of the collector: `otlp`, else that of the environment; `None` without one.

    With `--detach` the workers send it, if they get the same. Raises `WrongUsage` for
    `otel_content` without a collector and for `otlp` with `--detach`; `InvalidInput` if the extra
    `otel` is not installed, the address is none, or the headers in the environment are for another
    host.
    """
    endpoint = otlp if otlp is not None else _of_environment(detach=detach)
    if otel_content and endpoint is None:
        raise WrongUsage("missing-option", "--otel-content is for --otlp: give both, or none")
    if endpoint is None:
        return None
    if detach:
        raise WrongUsage(
            "options-conflict",
            "--detach leaves at once: give --otlp to `failproof-es worker`, which sends while it "
            "drives",
        )
    from failproof_es.exports.otel.endpoint import require_endpoint

    require_endpoint(endpoint, ENDPOINT if otlp is None else "--otlp")
    extras.require("otel", "--otlp")
    _require_own_headers(endpoint)
    return endpoint


def _of_environment(*, detach: bool) -> str | None:
    """The collector that the environment names; `None`, with a warning, if nothing can be sent.

    The environment belongs to whoever runs the command, and may be made for many programs: so it
    is obeyed where that is possible, and never an obstacle.
    """
    endpoint = os.environ.get(ENDPOINT)
    if not endpoint or os.environ.get(_DISABLED, "").lower() == "true":
        return None
    if os.environ.get(_PROTOCOL) == "grpc":
        why = f"{_PROTOCOL} is grpc, and only http/protobuf is spoken here"
    elif not extras.is_installed("otel"):
        why = "that needs the extra `otel`: pip install 'failproof-es[otel]'"
    elif detach:
        say(f"telemetry is sent by the workers for which {ENDPOINT} is set")
        return None
    else:
        return endpoint
    say(f"warning: no telemetry is sent to {ENDPOINT}: {why}")
    return None


def _require_own_headers(endpoint: str) -> None:
    """Raise `InvalidInput` if the environment has headers, and for another host than `endpoint`."""
    meant = os.environ.get(ENDPOINT)
    names = _header_variables()
    if meant and names and _host_of(meant) != (host := _host_of(endpoint)):
        raise InvalidInput.because(
            "key-exposed",
            f"{', '.join(names)} would go to {host}, and {ENDPOINT} names another host",
            remedy=f"unset {ENDPOINT} or the headers",
            field="--otlp",
        )


def _host_of(url: str) -> str:
    """Host and port in a URL; empty if it is none."""
    try:
        return urlsplit(url).netloc
    except ValueError:
        return ""


def _header_variables() -> list[str]:
    return [name for name in HEADERS if os.environ.get(name)]


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

    _name_destination(otlp)
    with TelemetryBeside(store.auditor_url, otlp, say, content=otel_content) as telemetry:
        yield telemetry


@contextmanager
def telemetry_of_worker(
    store: Store, otlp: str | None, otel_content: bool
) -> Iterator[Callable[[Event], None]]:
    """The observer of a worker's events that sends the telemetry of each run it drives."""
    if otlp is None:
        yield lambda event: None
        return
    from failproof_es.exports.otel.beside import TelemetryBeside, TelemetryOfRuns

    _name_destination(otlp)
    make = partial(TelemetryBeside, store.auditor_url, otlp, say, content=otel_content, shared=True)
    with TelemetryOfRuns(make) as telemetry:
        yield telemetry.observe


def _name_destination(otlp: str) -> None:
    """Say where the variables of the environment are sent."""
    for name in (*_header_variables(), *([ENDPOINT] if os.environ.get(ENDPOINT) == otlp else [])):
        say(f"{name} -> {_host_of(otlp)}")
