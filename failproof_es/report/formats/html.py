"""Renders a page's blocks as one HTML file: no script, no network, no markup from data.

Three rules make hostile text harmless: every template escapes; every value that a template writes
passes `finalize` or `quoted`, which show control and invisible characters as escapes; and the
content security policy forbids everything but the one style sheet, named by its hash.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from failproof_es.report.page.blocks import ReportPage
from failproof_es.support.untrusted_text import marked_lines, one_line


def pieces(page: ReportPage) -> Iterator[bytes]:
    """The HTML file of the page (UTF-8) in pieces, so that it is never whole in memory."""
    style = "\n".join(stylesheet(f"{name}.css").decode() for name in ("tokens", "charts", "style"))
    digest = b64encode(sha256(style.encode()).digest()).decode()
    template = escaping_environment(__package__).get_template("page.html.j2")
    chunks = template.generate(
        page=page,
        style=Markup(style),  # noqa: S704 - ours
        policy=f"default-src 'none'; style-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'",
    )
    for chunk in chunks:
        yield chunk.encode()


def stylesheet(name: str) -> bytes:
    """The bytes of a style sheet; `name` is `tokens.css` (colours), `charts.css` or `style.css`."""
    return files(__package__).joinpath("templates", name).read_bytes()


@cache
def escaping_environment(package: str) -> Environment:
    """The templates of a package. They write values through `finalize` and `quoted`."""
    environment = Environment(
        loader=PackageLoader(package, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"quoted": quoted, "count": "{:,}".format}
    return environment


def quoted(text: str) -> Markup:
    """The text as HTML, escaped, with its line breaks.

    Control and invisible characters become escapes such as `\\u202e`, each in a `<mark>` element.
    """
    marked = Markup('<mark class="unseen">{}</mark>')
    return Markup().join(
        marked.format(piece) if hidden else escape(piece) for piece, hidden in marked_lines(text)
    )


def finalize(value: object) -> object:
    """The value as a template writes it: our own markup unchanged, a number or a text on one line.

    Raises `TypeError` for anything else, also for `None` and booleans.
    """
    if isinstance(value, Markup):
        return value
    if isinstance(value, str | int) and not isinstance(value, bool):
        return one_line(value)
    raise TypeError(f"a page has no way to write {type(value).__name__}")
