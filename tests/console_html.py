"""What the HTML of a console's page may hold, whatever others wrote into the log."""

from __future__ import annotations

import unicodedata

from tests.harmless_html import Attributes, Shape

_SHELL = {"html", "head", "meta", "title", "link", "script", "body", "header", "main", "footer"}
_TEXT = {
    *("nav", "section", "article", "aside", "div", "p", "h1", "h2", "h3", "h4", "ol", "ul", "li"),
    *("dl", "dt", "dd", "table", "caption", "thead", "tbody", "tr", "th", "td", "figure"),
    *("figcaption", "details", "summary", "pre", "code", "kbd", "q", "mark", "span", "strong"),
    *("bdi", "br", "time", "a", "form", "label", "input", "select", "option", "button"),
}
_DRAWN = {"svg", "g", "path", "line", "rect", "circle", "text", "tspan"}
_ISOLATED = {"bdi", "title", "option", "text", "tspan"}
"""Text in one of these orders itself alone; so does what has a `dir`."""
_LOADED = ("src", "href", "action", "formaction", "poster", "srcset", "data", "xlink:href")


def objections(html: str) -> list[str]:
    """Each thing in the page that the console never writes itself."""
    return _Page.objections(html)


class _Page(Shape):
    void = frozenset({"meta", "link", "input", "br"})

    def __init__(self) -> None:
        super().__init__()
        self._isolated: list[bool] = []
        """Of each element that is open, whether its text orders itself alone."""
        self._scripts = iter(("console.js", "cards.js", "keys.js"))

    def handle_starttag(self, tag: str, attributes: Attributes) -> None:
        super().handle_starttag(tag, attributes)
        if tag not in self.void:
            dir_given = any(name == "dir" for name, _ in attributes)
            self._isolated.append(tag in _ISOLATED or dir_given)

    def handle_endtag(self, tag: str) -> None:
        super().handle_endtag(tag)
        del self._isolated[len(self.open) :]

    def handle_data(self, data: str) -> None:
        turns = any(unicodedata.bidirectional(sign) in ("R", "AL") for sign in data)
        if turns and not any(self._isolated):
            within = " ".join(self.open[-3:])
            self.found.append(f"not isolated in {within}: {data.strip()[:60]!r}")

    def look(self, tag: str, attributes: Attributes) -> None:
        given = {name: value or "" for name, value in attributes}
        if tag not in _SHELL | _TEXT | _DRAWN:
            self.found.append(f"element {tag}")
        if tag == "script":
            expected = next(self._scripts, None)
            if expected is None or not given.get("src", "").startswith(f"/static/{expected}?v="):
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
