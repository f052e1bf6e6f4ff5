"""YAML case files: one tree, strict as JSON is, in which every value knows its line.

`read_yaml(path, problems)` reads a whole file, at most some MiB of it, and returns its tree; or
`None` where `problems` has the reason: tags, anchors, aliases, duplicate keys, depth, encoding.
`parse_yaml` does the same with a text. `YamlTree.line_of(location)` is the line of a value, and
`dotted(location)` names it as a problem's field does.
"""

from __future__ import annotations

from failproof_es.configuration.yaml_tree import (
    Location,
    YamlTree,
    dotted,
    parse_yaml,
    read_yaml,
)

__all__ = ["Location", "YamlTree", "dotted", "parse_yaml", "read_yaml"]
