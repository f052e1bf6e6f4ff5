"""Draws specifications of Vega-Lite. Runs in a child process (`svg.py`)."""

from __future__ import annotations

from typing import Any


def svg_of(specification: dict[str, Any]) -> str:
    """The drawing as SVG. Works offline, and gives the same bytes for the same specification."""
    import vl_convert  # only in the child: a JavaScript engine, which holds 70 MB

    return vl_convert.vegalite_to_svg(specification, allowed_base_urls=[])
