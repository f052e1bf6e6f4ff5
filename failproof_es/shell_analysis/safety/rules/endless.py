"""Finds functions and loops in the syntax tree that start processes without end."""

from __future__ import annotations

from failproof_es.shell_analysis.parse.shell import Node
from failproof_es.shell_analysis.parse.syntax import calls, walk


def multiplies(name: str, statement: Node) -> bool:
    """Whether the function `name` starts itself in the background, or twice in one pipe.

    `statement` is its body.
    """
    for node in walk(statement):
        if node.get("Background") and _starts(name, node):
            return True
        if node.get("Op") in ("|", "|&") and _starts(name, node) > 1:
            return True
    return False


def _starts(name: str, tree: Node) -> int:
    return sum(call[0] == name for call in calls(tree))


def spawns_for_ever(loop: Node) -> bool:
    """Whether an endless loop starts a background process in each iteration."""
    if loop["Type"] == "ForClause":
        header = loop.get("Loop", {})
        return header.get("Type") == "CStyleLoop" and "Cond" not in header and _spawns(loop)
    condition = [call for part in loop.get("Cond", []) for call in calls(part)]
    endless = condition in ([["true"]], [[":"]], [["false"]], [["[", "1", "]"]], [["test", "1"]])
    return endless and _spawns(loop)


def _spawns(loop: Node) -> bool:
    """Whether each iteration starts a background process and waits for nothing."""
    statements = loop.get("Do", [])
    waits = any(
        call[0] in ("sleep", "wait", "read", "inotifywait", "break", "exit")
        for statement in statements
        if not statement.get("Background")
        for call in calls(statement)
    )
    return not waits and any(node.get("Background") for node in walk(statements))
