"""What the HTML of a console's page may hold, whatever others wrote into the log."""

from __future__ import annotations

import unicodedata
from html.parser import HTMLParser

from failproof_es.support.untrusted_text import lines

_SHELL = {"html", "head", "meta", "title", "link", "script", "body", "header", "main", "footer"}
_TEXT = {
    *("nav", "section", "article", "aside", "div", "p", "h1", "h2", "h3", "h4", "ol", "ul", "li"),
    *("dl", "dt", "dd", "table", "caption", "thead", "tbody", "tr", "th", "td", "figure"),
    *("figcaption", "details", "summary", "pre", "code", "kbd", "q", "mark", "span", "strong"),
    *("bdi", "br", "time", "a", "form", "label", "input", "select", "option", "button"),
}
_DRAWN = {"svg", "g", "path", "line", "rect", "circle", "text", "tspan"}
_VOID = {"meta", "link", "input", "br"}
_ISOLATED = {"bdi", "title", "option", "text", "tspan"}
"""Text in one of these orders itself alone; so does what has a `dir`."""
_LOADED = ("src", "href", "action", "formaction", "poster", "srcset", "data", "xlink:href")


def objections(html: str) -> list[str]:
    """Each thing in the page that the console never writes itself."""
    check = _Check()
    check.feed(html)
    check.close()
    if check.stack:
        check.found.append(f"not closed: {check.stack}")
    if lines(html) != html:
        check.found.append("a character that hides, reorders or commands")
    return check.found


class _Check(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self.stack: list[tuple[str, bool]] = []
        self.scripts = 0

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._look(tag, attributes)
        if tag not in _VOID:
            isolated = tag in _ISOLATED or any(name == "dir" for name, _ in attributes)
            self.stack.append((tag, isolated))

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._look(tag, attributes)

    def handle_endtag(self, tag: str) -> None:
        if not self.stack or self.stack.pop()[0] != tag:
            self.found.append(f"</{tag}> closes what it did not open")

    def handle_data(self, data: str) -> None:
        turns = any(unicodedata.bidirectional(sign) in ("R", "AL") for sign in data)
        if turns and not any(isolated for _, isolated in self.stack):
            within = " ".join(tag for tag, _ in self.stack[-3:])
            self.found.append(f"not isolated in {within}: {data.strip()[:60]!r}")

    def handle_comment(self, data: str) -> None:
        self.found.append(f"comment: {data[:40]}")

    def _look(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        if tag not in _SHELL | _TEXT | _DRAWN:
            self.found.append(f"element {tag}")
        if tag == "script":
            self.scripts += 1
            if self.scripts > 1 or not given.get("src", "").startswith("/static/console.js?v="):
                self.found.append(f"script {given}")
        if tag == "meta" and "http-equiv" in given:
            self.found.append("meta http-equiv")
        if tag == "link" and not given.get("href", "").startswith("/"):
            self.found.append(f"link {given}")
        for name, value in given.items():
            if name.startswith("on") or name in ("style", "srcdoc", "autofocus", "contenteditable"):
                self.found.append(f"attribute {name} of {tag}")
            elif name in _LOADED and (not value.startswith(("/", "#")) or value.startswith("//")):
                self.found.append(f"{tag} leads to {value[:60]}")
