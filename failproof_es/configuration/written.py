"""Writes a configuration as YAML, as the reader of configurations takes it: without anchors."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from typing import Any

from ruamel.yaml import YAML

_WIDEST = 4096
_PLAIN = re.compile(r"[^\x00-\x08\x0b-\x1f\x7f-\xa0\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]*")
"""A text without control characters, and without line breaks other than LF."""


def yaml_text(document: Mapping[str, Any]) -> str:
    """The document as YAML, keys in the given order, multi-line texts as literal blocks."""
    stream = io.StringIO()
    yaml = YAML()
    yaml.width = _WIDEST
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.representer.ignore_aliases = lambda *_: True
    yaml.representer.add_representer(type(None), _represent_null)
    yaml.representer.add_representer(str, _represent_text)
    yaml.dump(document, stream)
    return stream.getvalue()


def _represent_null(representer: Any, _: None) -> Any:
    return representer.represent_scalar("tag:yaml.org,2002:null", "")


def _represent_text(representer: Any, text: str) -> Any:
    style = "|" if "\n" in text else None
    if not _PLAIN.fullmatch(text):  # blocks and plain texts have no escapes
        style = '"'
    return representer.represent_scalar("tag:yaml.org,2002:str", text, style=style)
