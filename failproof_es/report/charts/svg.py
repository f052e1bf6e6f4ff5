"""Converts a chart to inline SVG with nothing but shapes, numbers and text.

The library draws each role in a colour of its own, which is replaced by a CSS class here: one
drawing is readable in light and dark mode and on paper, and needs no inline style. Elements,
colours and attributes are allow-listed: any other element or colour is an error, any other
attribute is dropped.
"""

from __future__ import annotations

import re
from resource import RLIM_INFINITY
from typing import Any
from xml.etree import ElementTree

from markupsafe import Markup

from failproof_es.report.charts.vega import svg_of
from failproof_es.support.bounded.process import BoundedPool
from failproof_es.support.bounded.running_child import Limits
from failproof_es.support.untrusted_text import one_line

Spec = dict[str, Any]
"""A specification of Vega-Lite, or a part of one, as JSON has it."""

SERIES = 8
"""Number of series with a colour of their own; shapes and dashes distinguish the rest."""

RAMP = 6
"""Number of colours in a heat map, from no failures to all failed."""

_ROLES = (
    "ink",
    "muted",
    "line",
    *(f"series-{index}" for index in range(SERIES)),
    *(f"ramp-{step}" for step in range(RAMP)),
    *(f"on-ramp-{step}" for step in range(RAMP)),
)
_COLOUR_OF = {role: f"#fa{index:02x}5e" for index, role in enumerate(_ROLES)}
_ROLE_OF = {colour: role for role, colour in _COLOUR_OF.items()}

_ELEMENTS = frozenset({"svg", "g", "path", "line", "rect", "text", "tspan"})
_PLACE = frozenset({"width", "height", "viewBox", "transform", "d", "x", "y", "x2", "y2"})
_LOOK = frozenset(
    {"stroke-width", "stroke-dasharray", "opacity", "font-size", "font-weight", "text-anchor"}
)
_MEANING = frozenset({"role", "aria-label", "aria-roledescription", "aria-hidden"})
_ATTRIBUTES = _PLACE | _LOOK | _MEANING
_PAINT = ("fill", "stroke")
_NOTHING = ("none", "transparent")
_LONG_FRACTION = re.compile(r"(\.\d{2})\d+")
_LIMITS = Limits(cpu_s=60, wait_s=60, memory_bytes=RLIM_INFINITY)
"""A chart takes some milliseconds, the first one half a second. The engine reserves an address
space of any size."""
_POOL = BoundedPool(svg_of, _LIMITS)


def colour(role: str) -> str:
    """The placeholder colour of a role such as `ink` or `series-0`, as `#rrggbb`.

    `drawn` replaces it by the role's CSS class. Raises `KeyError` if there is no such role.
    """
    return _COLOUR_OF[role]


def drawn(chart: Spec, label: str) -> Markup:
    """A chart as an inline `<svg>`; `label` is its accessible name.

    Works offline and gives the same bytes for the same chart. Raises `ValueError` if the drawing
    library uses an element or a colour that is not allow-listed, `LimitExceeded` if it draws too
    long.
    """
    root = ElementTree.fromstring(_POOL.call(chart))  # noqa: S314 - the library wrote it
    _clean(root)
    root.set("role", "graphics-document")
    root.set("aria-roledescription", "chart")
    root.set("aria-label", one_line(label))
    return Markup(ElementTree.tostring(root, encoding="unicode"))  # noqa: S704 - cleaned above


def _clean(element: ElementTree.Element) -> None:
    element.tag = element.tag.rpartition("}")[2]
    if element.tag not in _ELEMENTS:
        raise ValueError(f"a chart holds an element that is not known: {element.tag}")
    roles = [role for paint in _PAINT if (role := _role(element, paint))]
    attributes = {name: value for name, value in element.attrib.items() if name in _ATTRIBUTES}
    attributes |= {paint: "none" for paint in _PAINT if element.get(paint) in _NOTHING}
    for numbers in ("d", "transform"):
        if numbers in attributes:
            attributes[numbers] = _LONG_FRACTION.sub(r"\1", attributes[numbers])
    element.attrib.clear()
    element.attrib.update(attributes)
    if roles:
        element.set("class", " ".join(roles))
    for child in list(element):
        if _is_invisible(child):
            element.remove(child)
        else:
            _clean(child)


def _role(element: ElementTree.Element, paint: str) -> str | None:
    value = element.get(paint)
    if value is None or value in _NOTHING:
        return None
    if value not in _ROLE_OF:
        raise ValueError(f"a chart is drawn in a colour that has no role: {value}")
    return f"{paint}-{_ROLE_OF[value]}"


def _is_invisible(element: ElementTree.Element) -> bool:
    """Whether an element is invisible: the library adds such elements for interaction."""
    return (
        element.get("display") == "none"
        or element.get("class") == "background"
        or element.get("fill") == "transparent"
        or element.get("d") == ""
    )
