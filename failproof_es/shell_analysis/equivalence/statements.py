"""The normal form of statements: equal forms mean equal commands.

A form is nested tuples whose first item names the construct. A construct without a rule of its
own keeps shfmt's tree, without positions and comments: so it can make equal commands look
different, but never different commands equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from failproof_es.shell_analysis.equivalence.grouping import normalize_grouping
from failproof_es.shell_analysis.equivalence.pipelines import merge_stages
from failproof_es.shell_analysis.equivalence.redirections import (
    ALSO_STANDARD_ERROR,
    normal_redirections,
)
from failproof_es.shell_analysis.equivalence.word_reader import WordReader
from failproof_es.shell_analysis.equivalence.words import Form, Word, in_order
from failproof_es.shell_analysis.errors import Unparseable
from failproof_es.shell_analysis.parse.shell import Language, parse_command

Node = dict[str, Any]

_PLACE = {"Offset", "Line", "Col"}
_IGNORED = {"Comments", "Last", "Short", "Backquotes", "Bracket", "RsrvWord", "Parens", "Braces"}


@dataclass(frozen=True, slots=True)
class Context:
    """The circumstances that change a command's effect: shell, output, redefined names."""

    language: Language = "bash"
    to_terminal: bool = True
    redefined: frozenset[str] = frozenset()
    """Names that the script itself defines as functions or aliases."""


CallForm = Callable[[Sequence[Word], "Statements"], Form]


class Statements:
    """Computes the normal forms of the statements of one script.

    `call` returns the normal form of a simple command, from its words.
    """

    def __init__(self, context: Context, call: CallForm) -> None:
        self.context = context
        self._call = call
        self._reader = WordReader(self._expansion, bash=context.language == "bash")

    def script(self, nodes: Sequence[Node]) -> Form:
        """The normal form of statements that run one after the other."""
        forms: list[Form] = []
        for node in nodes:
            form = self.statement(node)
            match form:
                case ("sequence", *inner):
                    forms += inner
                case _:
                    forms.append(form)
        return forms[0] if len(forms) == 1 else ("sequence", *forms)

    def text(self, text: str, language: Language) -> Form:
        """The normal form of a script in a command's argument, such as that of `sh -c`.

        The text itself if it is not a script in that language.
        """
        try:
            tree = parse_command(text, language).tree
        except Unparseable:
            return ("text", text)
        context = replace(self.context, language=language)
        return Statements(context, self._call).script(tree.get("Stmts") or [])

    def call(self, words: Sequence[Word]) -> Form:
        """The normal form of a command given as words, such as that of a wrapper or of
        `find -exec`."""
        return self._call(words, self)

    def statement(self, node: Node) -> Form:
        """The normal form of one statement with its redirections."""
        redirections = normal_redirections(node.get("Redirs") or [], self._reader)
        inner = self._piped() if redirections.redirects_output else self
        command = node.get("Cmd")
        form: Form = inner._command(command) if command else ("nothing",)
        if redirections.form:
            form = ("redirected", form, redirections.form)
        for flag in ("Negated", "Background", "Coprocess", "Disown"):
            if node.get(flag):
                form = (flag, form)
        return form

    def _piped(self) -> Statements:
        if not self.context.to_terminal:
            return self
        return Statements(replace(self.context, to_terminal=False), self._call)

    def _command(self, node: Node) -> Form:
        match node["Type"]:
            case "CallExpr":
                return self._simple(node)
            case "BinaryCmd" if node["Op"] in ("|", "|&"):
                return self._pipeline(node)
            case "BinaryCmd":
                return (node["Op"], self.statement(node["X"]), self.statement(node["Y"]))
            case "Block":
                return self.script(node.get("Stmts") or [])
            case "TestClause":
                return ("[[", normalize_grouping(node["X"], self._test))
            case "CaseClause":
                return self._case(node)
            case "DeclClause" if self.context.language == "bash":
                arguments = map(self._declared, node.get("Args") or [])
                return ("declare", node["Variant"]["Value"], *arguments)
            case _:
                return self._generic_form(node)

    def _simple(self, node: Node) -> Form:
        words = [
            word for argument in node.get("Args") or [] for word in self._reader.words(argument)
        ]
        assignments = [self._assignment(assignment) for assignment in node.get("Assigns") or []]
        if not words:
            return ("assign", *assignments)
        call = self.call(words)
        if not assignments:
            return call
        movable = _are_movable(node["Assigns"])
        return ("with", in_order(assignments) if movable else tuple(assignments), call)

    def _assignment(self, node: Node) -> Form:
        fields = {key: value for key, value in node.items() if key != "Value"}
        if node.get("Naked") or "Value" not in node:
            return ("assignment", self._generic_form(fields | {"Value": node.get("Value")}))
        return ("assignment", self._generic_form(fields), self._reader.value(node["Value"]))

    def _declared(self, node: Node) -> Form:
        """The form of an argument of `export` and similar: an assignment's value is not split."""
        is_assignment = "Name" in node and not node.get("Naked")
        return self._assignment(node) if is_assignment else self._generic_form(node)

    def _pipeline(self, node: Node) -> Form:
        nodes: list[Node] = []
        for operator, stage in _flatten_pipeline(node):
            if operator == "|&":
                stage = stage | {"Redirs": [*(stage.get("Redirs") or []), ALSO_STANDARD_ERROR]}
            nodes.append(stage)
        forms = [self._piped().statement(stage) for stage in nodes[:-1]]
        return merge_stages((*forms, self.statement(nodes[-1])))

    def _case(self, node: Node) -> Form:
        items = tuple(
            (
                item["Op"],
                tuple(self._reader.pattern(pattern) for pattern in item.get("Patterns") or []),
                self.script(item.get("Stmts") or []),
            )
            for item in node.get("Items") or []
        )
        return ("case", self._reader.value(node["Word"]), items)

    def _test(self, node: Node) -> Form:
        """The form of a part of `[[`: a pattern right of `==`, other words without splitting."""
        match node["Type"]:
            case "Word":
                return self._reader.value(node)
            case "UnaryTest":
                return (node["Op"], self._test(node["X"]))
            case "BinaryTest" if node["Op"] in ("==", "=", "!="):
                operator = "!=" if node["Op"] == "!=" else "=="
                return (operator, self._test(node["X"]), self._reader.pattern(node["Y"]))
            case "BinaryTest" if node["Op"] == "=~":
                return ("=~", self._test(node["X"]), self._written_form(node["Y"]))
            case _:
                return (node["Op"], self._test(node["X"]), self._test(node["Y"]))

    def _expansion(self, node: Node) -> Form:
        match node["Type"]:
            case "ParamExp" if set(node) <= {"Type", "Short", "Param"} | _position_keys(node):
                return ("$", node["Param"]["Value"])
            case "CmdSubst" if not node.get("TempFile") and not node.get("ReplyVar"):
                return ("substitution", self._piped().script(node.get("Stmts") or []))
            case "ProcSubst":
                inner = self._piped() if node["Op"] == "<(" else self
                return ("process", node["Op"], inner.script(node.get("Stmts") or []))
            case "ArithmExp":
                return ("arithmetic", self._written_form(node.get("X")), bool(node.get("Unsigned")))
            case _:
                return ("expansion", self._written_form(node))

    def _generic_form(self, node: Any) -> Form:
        """The tree of a construct without a rule, with its words and statements in normal form."""
        if isinstance(node, list) and node and all("Parts" in child for child in node):
            return ("words", *(word for child in node for word in self._reader.words(child)))
        if isinstance(node, list):
            return tuple(self._generic_form(child) for child in node)
        if not isinstance(node, dict):
            return (type(node).__name__, node)
        if "Parts" in node:
            return ("words", *self._reader.words(node))
        fields: list[Form] = [("in",)] if "InPos" in node else []  # `for i` is not `for i in`
        for key in sorted(node):
            value = node[key]
            if key in _IGNORED or _is_position(value):
                continue
            if key in ("Stmts", "Do", "Cond", "Then", "Items") and _are_statements(value):
                fields.append((key, self.script(value)))
            elif isinstance(value, dict) and ("Cmd" in value or "Redirs" in value):
                fields.append((key, self.statement(value)))
            elif key == "X" and node.get("Type") in ("ArithmCmd", "LetClause"):
                fields.append((key, self._written_form(value)))
            else:
                fields.append((key, self._generic_form(value)))
        return ("node", *fields)

    def _written_form(self, node: Any) -> Form:
        """The tree of a construct as written, without positions and comments.

        For places with quoting rules of their own.
        """
        if isinstance(node, list):
            return tuple(self._written_form(child) for child in node)
        if not isinstance(node, dict):
            return (type(node).__name__, node)
        return tuple(
            (key, self._written_form(node[key]))
            for key in sorted(node)
            if key not in _IGNORED and not _is_position(node[key])
        )


def _flatten_pipeline(node: Node) -> Iterator[tuple[str | None, Node]]:
    """The statements of a pipeline, each with the operator that follows it; `None` after the
    last."""
    left_side = node["X"]
    inner = left_side.get("Cmd") or {}
    bare = not any(left_side.get(key) for key in ("Redirs", "Negated", "Background", "Coprocess"))
    if bare and inner.get("Type") == "BinaryCmd" and inner["Op"] in ("|", "|&"):
        *before, (_, last) = _flatten_pipeline(inner)
        yield from before
        yield node["Op"], last
    else:
        yield node["Op"], left_side
    yield None, node["Y"]


def _are_movable(assignments: Sequence[Node]) -> bool:
    """Whether the order of the assignments of a command doesn't matter: they have distinct names
    and constant values."""
    names = {(assignment.get("Name") or {}).get("Value") for assignment in assignments}
    return len(names) == len(assignments) and all(
        _is_fixed(assignment) for assignment in assignments
    )


def _is_fixed(assignment: Node) -> bool:
    """Whether the value is constant, so that no earlier assignment can change it."""
    parts = (assignment.get("Value") or {}).get("Parts") or []
    return all(part["Type"] in ("Lit", "SglQuoted") for part in parts)


def _is_position(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == _PLACE


def _position_keys(node: Node) -> set[str]:
    return {key for key, value in node.items() if _is_position(value)}


def _are_statements(value: Any) -> bool:
    return isinstance(value, list) and all("Cmd" in e or "Redirs" in e for e in value)


def redefined_names(node: Any) -> frozenset[str]:
    """The names of the functions and aliases that a script defines."""
    names: set[str] = set()
    pending = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, list):
            pending += part
        elif isinstance(part, dict):
            pending += part.values()
            if part.get("Type") == "FuncDecl":
                names.add((part.get("Name") or {}).get("Value", ""))
            for argument in _alias_arguments(part):
                names.add(argument.partition("=")[0])
    return frozenset(names)


def _alias_arguments(node: Node) -> list[str]:
    words = node.get("Args") if node.get("Type") == "CallExpr" else None
    texts = ["".join(str(p.get("Value", "")) for p in w.get("Parts") or []) for w in words or []]
    return texts[1:] if texts[:1] == ["alias"] else []
