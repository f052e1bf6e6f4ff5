"""What the HTML of any page may hold, and that of a report; and hostile texts to try it with."""

from __future__ import annotations

from html.parser import HTMLParser

from failproof_es.support.untrusted_text import lines

Attributes = list[tuple[str, str | None]]

GLOBAL = {"class", "id", "role", "aria-label", "aria-labelledby", "tabindex"}
ATTRIBUTES = {
    "html": {"lang"},
    "meta": {"charset", "http-equiv", "content", "name"},
    "a": {"href"},
    "th": {"scope"},
    "pre": {"dir"},
    "details": {"open"},
}
PLAIN = {
    *("head", "title", "style", "body", "header", "main", "nav", "section", "footer"),
    *("div", "p", "h1", "h2", "h3", "h4", "ol", "ul", "li", "dl", "dt", "dd"),
    *("table", "caption", "thead", "tbody", "tr", "td", "figure", "figcaption"),
    *("summary", "mark", "span"),
}
SHAPES = {"svg", "g", "path", "line", "rect", "text", "tspan"}
SHAPE_ATTRIBUTES = {
    *("width", "height", "viewbox", "transform", "d", "x", "y", "x2", "y2", "fill", "stroke"),
    *("stroke-width", "stroke-dasharray", "opacity", "font-size", "font-weight", "text-anchor"),
    *("aria-roledescription", "aria-hidden"),
}

HOSTILE = {
    "script": "<script src=http://127.0.0.1:{port}/script></script><script>document.title='x'</script>",
    "attribute": "\" onmouseover=\"alert(1)\" x='' onfocus='alert(1)' autofocus tabindex=1 `",
    "image": "<img src=http://127.0.0.1:{port}/img onerror=alert(1)>![x](http://127.0.0.1:{port}/md)",
    "svg": "<svg onload=alert(1)><image href=http://127.0.0.1:{port}/svg /><foreignObject><iframe>",
    "mathml": "<math><mtext><table><mglyph><style><img src=http://127.0.0.1:{port}/math>",
    "closing": "</pre></div></details></section></body></html></title></style></textarea>-->",
    "cdata": "<!--><![CDATA[<b>]]><?xml version='1.0'?><!DOCTYPE x [<!ENTITY a 'b'>]>&a;&lt;b&gt;",
    "template": "{{ 7*7 }}{% for x in ().__class__.__mro__ %}{{ x }}{% endfor %}{# #}<%= 7 %>",
    "link": "javascript:alert(1) [x](javascript:alert(1)) <a href=javascript:alert(1)>x</a>",
    "frame": "<iframe srcdoc='<script>alert(1)</script>'></iframe><object data=x><embed src=y>",
    "meta": '<meta http-equiv=refresh content="0;url=http://127.0.0.1:{port}/meta"><base href=//x>',
    "css": "</style><style>p{background:url(http://127.0.0.1:{port}/css)}</style><p style=top:0>",
    "form": "<form action=http://127.0.0.1:{port}/form><button>x</button><input autofocus>",
    "terminal": "\x1b[2J\x1b]0;title\x07\x9b31m\x08\x7f",
    "bidi": "access \u202etnemyap\u202c \u2066isolated\u2069 \u200f right",
    "zero width": "pass\u200bword \ufeff\u2060\u00ad\U000e0041\u3164",
    "nul": "before\x00after\x0b\x0c\ufffe\uffff",
    "surrogate": "lone \ud800 and \udfff",
    "first line feed": "\n\n  indented after two empty lines",
    "long line": "x" * 100_000,
    "marks": "Z" + "\u0301\u0302\u0303" * 40,
    "nothing": "",
}
"""By what it tries; `{port}` stands for that of a server which counts requests."""


def hostile(port: int = 9) -> dict[str, str]:
    """The hostile texts, each pointing to a server on loopback where it points anywhere."""
    return {name: text.replace("{port}", str(port)) for name, text in HOSTILE.items()}


def objections(html: str) -> list[str]:
    """What the page holds that a report never writes itself."""
    return _Report.objections(html)


class Shape(HTMLParser):
    """Finds what a page holds that is none of its own. Which elements may be there is said by
    whoever inherits: in `look`."""

    void: frozenset[str]
    """Elements without an end."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self.open: list[str] = []
        self._declarations = 0

    @classmethod
    def objections(cls, html: str) -> list[str]:
        """Each thing in the page that should not be there."""
        check = cls()
        check.feed(html)
        check.close()
        if check.open:
            check.found.append(f"not closed: {check.open}")
        if lines(html) != html:
            check.found.append("a character that hides, reorders or commands")
        return check.found

    def look(self, tag: str, attributes: Attributes) -> None:
        """Object to this element or its attributes."""
        raise NotImplementedError

    def handle_starttag(self, tag: str, attributes: Attributes) -> None:
        self.look(tag, attributes)
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: Attributes) -> None:
        self.look(tag, attributes)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.found.append(f"</{tag}> closes what it did not open")

    def handle_comment(self, data: str) -> None:
        self.found.append(f"comment: {data[:40]}")

    def handle_pi(self, data: str) -> None:
        self.found.append(f"processing instruction: {data[:40]}")

    def handle_decl(self, decl: str) -> None:
        self._declarations += 1
        if decl != "doctype html" or self._declarations > 1:
            self.found.append(f"declaration: {decl[:40]}")

    def unknown_decl(self, data: str) -> None:
        self.found.append(f"declaration: {data[:40]}")


class _Report(Shape):
    void = frozenset({"meta"})

    def look(self, tag: str, attributes: Attributes) -> None:
        allowed = GLOBAL | ATTRIBUTES.get(tag, set())
        if tag in SHAPES:
            allowed |= SHAPE_ATTRIBUTES
        elif tag not in PLAIN | ATTRIBUTES.keys():
            self.found.append(f"element {tag}")
        for name, value in attributes:
            if name not in allowed:
                self.found.append(f"attribute {tag} {name}={value!r}")
            elif name == "href" and not (value or "").startswith("#"):
                self.found.append(f"link {value!r}")
