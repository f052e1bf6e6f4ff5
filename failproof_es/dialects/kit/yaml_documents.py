"""Reads YAML case files strictly, and keeps the line of every value.

`read_yaml(path, problems)` reads a whole file, at most some MiB of it, and returns its tree; or
`None` where `problems` has the reason: tags, anchors, aliases, duplicate keys, depth, encoding.
`parse_yaml` does the same with a text. `YamlTree.line_of(location)` is the line of a value, and
`dotted(location)` names it as a problem's field does.
"""

from __future__ import annotations

from failproof_es.configuration.locations import Location, dotted
from failproof_es.configuration.yaml_tree import YamlTree, parse_yaml, read_yaml

__all__ = ["Location", "YamlTree", "dotted", "parse_yaml", "read_yaml"]
