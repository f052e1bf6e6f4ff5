"""Renders templates. Output is escaped, and invisible characters are made visible."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from failproof_es.catalogue import wording
from failproof_es.console import links
from failproof_es.console.links import NAVIGATION, live_key
from failproof_es.console.pages import all_pages
from failproof_es.core.severity import severity_order
from failproof_es.events import ENDED
from failproof_es.events.line import describe_verdict
from failproof_es.report.formats.html import escaping_environment, stylesheet
from failproof_es.support.class_words import class_word
from failproof_es.support.percentages import percent
from failproof_es.support.plurals import plural
from failproof_es.support.untrusted_text import shortened, shortened_inside

STATIC: Mapping[str, str] = {
    "tokens.css": "text/css",
    "charts.css": "text/css",
    "console.css": "text/css",
    "cards.js": "text/javascript",
    "console.js": "text/javascript",
    "keys.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
"""The static files and their types. There are no others below `/static/`."""


_SHELL: Mapping[str, Any] = {
    "here": None,
    "as_of": None,
    "page": None,
    "person": None,
    "is_bare": False,
}
_PIECES = 20
"""Parts of a template that are sent together."""


def render(template: str, **context: Any) -> str:
    """A page as HTML. Raises `TypeError` for a value of a type that templates cannot write."""
    return _environment().get_template(template).render({**_SHELL, **context})


def render_in_pieces(template: str, **context: Any) -> Iterator[str]:
    """Like `render`, in pieces, so that nobody waits for late charts to see the rest."""
    pieces = _environment().get_template(template).stream({**_SHELL, **context})
    pieces.enable_buffering(_PIECES)
    return iter(pieces)


def prepare() -> None:
    """Load every template, so that no request waits for one."""
    environment = _environment()
    for name in environment.list_templates(extensions=["html"]):
        environment.get_template(name)


@cache
def static_file(name: str) -> bytes:
    """A file of `STATIC`."""
    if name in ("tokens.css", "charts.css"):
        return stylesheet(name)  # the report's own
    return files(__package__).joinpath("static", name).read_bytes()


@cache
def static_digest(name: str) -> str:
    """The version of a static file: the beginning of its SHA-256."""
    return sha256(static_file(name)).hexdigest()[:16]


@cache
def _environment() -> Environment:
    environment = escaping_environment(__package__)
    environment.filters |= {
        "usd": usd_text,
        "percent": share_text,
        "points": wording.signed_points,
        "permille": lambda share: round(share * 1000),
        "share": in_thousandths,
        "ms": milliseconds,
        "moment": _moment,
        "iso": lambda value: value.astimezone(UTC).isoformat(timespec="milliseconds"),
        "field_of": lambda name, of: getattr(of, name),
        "outcome": describe_verdict,
        "judge_named": wording.judge_named,
        "cut": shortened,
        "cut_inside": shortened_inside,
        "class_word": class_word,
        "by_severity": lambda words: tuple(sorted(set(words), key=severity_order)),
        "json": lambda value: json.dumps(value, ensure_ascii=False, indent=2),
    }
    environment.globals |= {
        "ENDED": ENDED,
        "navigation": NAVIGATION,
        "pages_of_run": _pages_of_run,
        "to": links.to,
        "drawn": _drawn,
        "tupled": tuple,
        "static": _static,
        "plural": plural,
        "live_key": live_key,
    }
    environment.tests["number"] = lambda value: isinstance(value, int | float)
    return environment


@cache
def _pages_of_run() -> tuple[tuple[str, str], ...]:
    """Text and last path segment of the run page's links to other pages: lists first."""
    pages = sorted(all_pages(), key=lambda page: page.rows is None)
    return tuple((page.word, page.path.rpartition("/")[2]) for page in pages if page.word)


def _drawn(what: str, of: tuple[Any, ...], label: str) -> Markup | None:
    from failproof_es.console.drawing import drawn  # lazy: the import takes longer than any page

    return drawn(what, of, label)


def _static(name: str) -> str:
    return links.to("static", name, v=static_digest(name))


def usd_text(cost: float | None) -> str:
    """An amount in US dollars; a small positive one is not shown as 0."""
    return "< $0.0001" if cost and 0 < cost < 0.00005 else wording.usd(cost)


def share_text(share: float | None) -> str:
    """A share in percent; a dash for `None`."""
    return "–" if share is None else percent(share)


def milliseconds(value: float | None) -> str:
    """A time in milliseconds; a dash for `None`."""
    return "–" if value is None else f"{value:,.0f} ms"


def _moment(value: datetime) -> str:
    return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def in_thousandths(part: int, whole: int) -> int:
    """A part of a whole, in thousandths; at least 1 unless the part is 0."""
    if not whole or not part:
        return 0
    return max(min(part * 1000 // whole, 1000), 1)
