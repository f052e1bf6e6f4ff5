"""The effect of redirections: which files are opened, and the target of each descriptor.

`>f 2>&1` and `&>f` leave both descriptors on one open file; `2>&1 >f` does not. The order of
opening files doesn't matter unless a target is opened twice or computed by a command.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from failproof_es.shell_analysis.equivalence.word_reader import WordReader
from failproof_es.shell_analysis.equivalence.words import (
    Expansion,
    Form,
    Inert,
    Word,
    in_order,
    is_number,
)

Node = dict[str, Any]

STANDARD_OUTPUT = 1
_READING = {"<", "<>", "<<", "<<-", "<<<"}
ALSO_STANDARD_ERROR: Node = {
    "Op": ">&", "N": {"Value": "2"}, "Word": {"Parts": [{"Type": "Lit", "Value": "1"}]},
}  # fmt: skip
"""The node of the `2>&1` that `|&` adds."""


@dataclass(frozen=True, slots=True)
class Redirections:
    """The normal form of a list of redirections.

    `redirects_output`: whether standard output certainly is a file, not a terminal.
    """

    form: tuple[Form, ...]
    redirects_output: bool


def normal_redirections(nodes: Sequence[Node], reader: WordReader) -> Redirections:
    """The effect of a statement's redirections in normal form; as written if it is not certain."""
    steps = [step for node in nodes for step in _steps(node, reader)]
    as_written = Redirections(("as written", *steps), False)
    opened: list[Form] = []
    descriptors: dict[int, Form] = {fd: ("inherited", fd) for fd in range(3)}
    for step in steps:
        if step.kind == "open":
            descriptors[step.descriptor] = ("file", len(opened))
            opened.append(step.form)
        elif step.kind == "copy":
            source = descriptors.get(int(str(step.form)), "closed")
            if source == "closed":  # an error, unless `exec` opened it earlier
                return as_written
            descriptors[step.descriptor] = source
        elif step.kind == "close":
            descriptors[step.descriptor] = "closed"
        else:
            return as_written
    form = _effect_form(opened, descriptors)
    return Redirections(form, _is_plain_file(descriptors.get(STANDARD_OUTPUT), opened))


def _is_plain_file(end: Form, opened: Sequence[Form]) -> bool:
    """Whether a descriptor's target `end` is a file that is certainly no terminal.

    `opened` are the files that the redirections open, by the number in `end`.
    """
    match end:
        case ("file", int(number)):
            match opened[number]:
                case (str(), Word() as target):
                    return not target.begins_unknown and (
                        not target.start.startswith("/dev/") or target.text == "/dev/null"
                    )
    return False


def _effect_form(opened: list[Form], descriptors: dict[int, Form]) -> tuple[Form, ...]:
    ends: list[Form] = [
        (what, tuple(sorted(fd for fd, end in descriptors.items() if end == ("file", number))))
        for number, what in enumerate(opened)
    ]
    other_ends = in_order(
        (fd, end)
        for fd, end in descriptors.items()
        if end != ("inherited", fd) and not (isinstance(end, tuple) and end[0] == "file")
    )
    targets = [what[-1] for what in opened if isinstance(what, tuple)]
    fixed = len(set(targets)) < len(targets) or any(_is_computed(target) for target in targets)
    opens = tuple(ends) if fixed else in_order(ends)
    return (*opens, *other_ends)


def _is_computed(target: Form) -> bool:
    """Whether expanding the target runs a command, so that the order of opening matters."""
    return isinstance(target, Word) and any(
        isinstance(atom, Expansion)
        and not (isinstance(atom.form, tuple) and atom.form[:1] == ("$",))
        for atom in target.atoms
    )


@dataclass(frozen=True, slots=True)
class _Step:
    kind: str
    descriptor: int
    form: Form


def _steps(node: Node, reader: WordReader) -> list[_Step]:
    operator = node["Op"]
    descriptor = (node.get("N") or {}).get("Value")
    words = reader.words(node["Word"])
    if operator in ("<<", "<<-", "<<<"):
        words = [_document(node, operator, reader)]
    if len(words) != 1 or not (descriptor is None or is_number(descriptor)):
        return [_Step("unknown", -1, (operator, descriptor, tuple(words)))]
    word = words[0]
    fd = int(descriptor) if descriptor else (0 if operator in _READING or operator == "<&" else 1)
    copied = operator in (">&", "<&")
    if copied and (is_number(word.text) or word.text == "-"):
        return [_Step("close" if word.text == "-" else "copy", fd, word.text)]
    if operator in ("&>", "&>>") or (
        operator == ">&" and descriptor is None and word.text and reader.bash
    ):
        kind = ">>" if operator == "&>>" else ">"
        return [_Step("open", 1, (kind, word)), _Step("copy", 2, "1")]
    if copied:
        return [_Step("unknown", -1, (operator, descriptor, word))]
    return [_Step("open", fd, ("<<" if operator.startswith("<<") else operator, word))]


def _document(node: Node, operator: str, reader: WordReader) -> Word:
    """The text of the here-document or here-string of a redirection."""
    if operator == "<<<":
        value = reader.value(node["Word"])
        return Word((*value.atoms[:-1], *_with_newline(value)))
    quoted = any(part["Type"] != "Lit" or "\\" in part["Value"] for part in node["Word"]["Parts"])
    return reader.document(node.get("Hdoc"), literal=quoted, tabs_go=operator == "<<-")


def _with_newline(value: Word) -> tuple[Any, ...]:
    last = value.atoms[-1]
    return (Inert(last.text + "\n"),) if isinstance(last, Inert) else (last, Inert("\n"))
