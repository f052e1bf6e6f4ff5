"""Walks a syntax tree and yields its commands in order, with the known state at each.

One pass over the text in the order of the shell, through every branch: every command is read
with the variables, the directory and the files that earlier text has set. Texts that a command
would give to a shell are parsed and read as well. No command is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from failproof_es.shell_analysis.errors import Unparseable
from failproof_es.shell_analysis.parse import shell
from failproof_es.shell_analysis.parse.shell import Node
from failproof_es.shell_analysis.safety.commands import Feed, Redirection, ShellCommand
from failproof_es.shell_analysis.safety.files.places import is_startup, key
from failproof_es.shell_analysis.safety.rules.endless import multiplies, spawns_for_ever
from failproof_es.shell_analysis.safety.shell_environment import READINGS, Surroundings
from failproof_es.shell_analysis.safety.text import marks, words
from failproof_es.shell_analysis.safety.text.code import embedded_scripts
from failproof_es.shell_analysis.safety.text.output import (
    listing,
    printed,
    printed_in_part,
    taint,
)
from failproof_es.shell_analysis.safety.verdict import ReasonCode, SafetyReason
from failproof_es.shell_analysis.safety.wrapping.terminals import split_words
from failproof_es.shell_analysis.safety.wrapping.wrappers import SHELLS, inside

_DEEPEST = 8
"""Most levels of nested texts, wrappers and functions."""
_MOST_TEXTS = 100
_MOST_STATEMENTS = 3000
_MOST_COMMANDS = 1000
_MOST_WORDS = 50_000
"""Most words of all commands together: each reading of a wrapper's options has its own."""
_COMMAND_VARIABLES = frozenset(
    {"PROMPT_COMMAND", "GIT_SSH_COMMAND", "GIT_SSH", "GIT_PAGER", "PAGER", "MANPAGER", "EDITOR",
     "VISUAL", "BROWSER", "LESSOPEN", "GIT_EDITOR", "SUDO_EDITOR", "FCEDIT", "RSYNC_RSH"}
)  # fmt: skip
"""Variables whose value another program runs."""


class CommandReader:
    """Reads one text: its commands into `commands`, and reasons found on the way into `reasons`."""

    def __init__(self) -> None:
        self.commands: list[ShellCommand] = []
        self.reasons: list[SafetyReason] = []
        self._known = Surroundings()
        self._scope = words.Scope(
            self._known.variables, self._substitute, self._provide, self._read_pattern
        )
        self._functions: dict[str, Node] = {}
        self._feed = Feed()
        self._provided: dict[str, tuple[ShellCommand, ...]] = {}
        """The commands that write into each process substitution, by path."""
        self._depth = 0
        self._texts = 0
        self._words = 0
        self._statements_read = 0

    def read(self, text: str) -> None:
        """Read a command, and every text in it that a shell would read."""
        try:
            self._read_text(text)
        except words.TooMuch as error:
            self._add_reason(ReasonCode.UNPARSEABLE, str(error))

    def _read_text(self, text: str, *, lenient: bool = False) -> None:
        """Read a script. `lenient`: report nothing if the text is not a script.

        Raises `TooMuch` if texts are nested too deeply or are too many.
        """
        self._texts += 1
        if self._texts > _MOST_TEXTS or self._depth > _DEEPEST:
            raise words.TooMuch("too many texts in each other")
        try:
            tree = shell.parse_command(marks.plain(text)).tree
        except Unparseable as error:
            nothing = self._texts > 1 and error.code in ("empty", "only_comment")
            if not lenient and not nothing:
                self._add_reason(ReasonCode.UNPARSEABLE, f"{error.code}: {error.reason}")
            return
        self._depth += 1
        self._statements(tree["Stmts"])
        self._depth -= 1

    def _add_reason(self, code: ReasonCode, detail: str) -> None:
        self.reasons.append(SafetyReason(code, marks.abbreviate(detail)))

    # Statements

    def _statements(self, statements: Sequence[Node]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, statement: Node) -> None:
        self._statements_read += 1
        if self._statements_read > _MOST_STATEMENTS:
            raise words.TooMuch("too many commands in each other")
        redirections = self._redirections(statement)
        command = statement.get("Cmd")
        before = self._feed
        self._feed = self._feed_of(redirections)
        if command is None:
            self._emit(self._command("", (), redirections))
        elif command["Type"] == "CallExpr":
            self._call(command, redirections)
        else:
            if any(redirection.writes for redirection in redirections):
                self._emit(ShellCommand("", (), redirections, self._feed, self._known.cwd))
            started = len(self.commands)
            self._compound(command)
            self._remember_files(redirections, self.commands[started:])
        self._feed = before

    def _compound(self, command: Node) -> None:
        if command["Type"] in ("WhileClause", "ForClause") and spawns_for_ever(command):
            self._add_reason(
                ReasonCode.FORK_BOMB, "a loop without end starts process after process"
            )
        match command["Type"]:
            case "BinaryCmd" if command["Op"] in ("|", "|&"):
                self._pipeline(command)
            case "BinaryCmd":
                self._statement(command["X"])
                self._statement(command["Y"])
            case "FuncDecl":
                self._function(command)
            case "ForClause":
                self._loop(command)
            case "DeclClause":
                name = command.get("Variant", {}).get("Value", "")
                arguments = [self._assign(assignment) for assignment in command.get("Args", [])]
                self._emit(ShellCommand(name, tuple(arguments), cwd=self._known.cwd))
            case "Subshell":
                cwd, variables = self._known.cwd, dict(self._known.variables)
                self._statements(command.get("Stmts", []))
                self._known.cwd = cwd
                self._known.restore(variables)
            case _:
                self._read_parts(command)

    def _read_parts(self, command: Node) -> None:
        """Read the parts of blocks, branches, loops and tests, in text order."""
        for value in command.values():
            for part in value if isinstance(value, list) else [value]:
                if not isinstance(part, dict):
                    continue
                if "Cmd" in part or "Redirs" in part:
                    self._statement(part)
                elif "Parts" in part:
                    words.fields(part, self._scope)
                elif not {"Line", "Col"} <= part.keys():
                    self._read_parts(part)

    def _pipeline(self, command: Node) -> None:
        stages = [command["Y"]]
        left_side = command["X"]
        while (left_side.get("Cmd") or {}).get("Op") in ("|", "|&") and not left_side.get("Redirs"):
            stages.append(left_side["Cmd"]["Y"])
            left_side = left_side["Cmd"]["X"]
        stages.append(left_side)
        feed, upstream = self._feed, self._feed.upstream
        for at, stage in enumerate(reversed(stages)):
            started = len(self.commands)
            if at:
                known_texts = {text for text in [printed(upstream)] if text is not None}
                self._feed = Feed(known_texts.pop() if known_texts else None, upstream)
            self._statement(stage)
            upstream = (*upstream, *self.commands[started:])
        self._feed = feed

    def _function(self, command: Node) -> None:
        name = command.get("Name", {}).get("Value", "")
        statement = command.get("Body")
        if not statement:
            return
        if multiplies(name, statement):
            self._add_reason(ReasonCode.FORK_BOMB, f"{name} starts itself more than once")
        self._functions.pop(name, None)
        self._statement(statement)
        self._functions[name] = statement

    def _loop(self, command: Node) -> None:
        loop = command.get("Loop", {})
        name = loop.get("Name", {}).get("Value")
        if name:
            items = [text for word in loop.get("Items", []) for text in self._fields(word)]
            self._known.variables[name] = tuple(dict.fromkeys(items))[:READINGS] or (marks.ANY,)
        else:
            self._read_parts(loop)
        self._statements(command.get("Do", []))

    def _fields(self, word: Node) -> list[str]:
        return [text for reading in words.fields(word, self._scope) for text in reading]

    # Simple commands

    def _call(self, call: Node, redirections: tuple[Redirection, ...]) -> None:
        arguments = call.get("Args", [])
        before = dict(self._known.variables)
        if assigned := tuple(self._assign(assignment) for assignment in call.get("Assigns", [])):
            self._emit(ShellCommand("=", assigned, cwd=self._known.cwd))
        if not arguments:
            if redirections:
                self._emit(self._command("", (), redirections))
            return
        self._known.restore(before)  # in `A=b command $A` the old value of A is expanded
        started = len(self.commands)
        for argv in self._argvs(arguments):
            self._run(argv, redirections)
        self._remember_files(redirections, self.commands[started:])

    def _argvs(self, arguments: Sequence[Node]) -> Iterator[tuple[str, ...]]:
        """Readings of a command line: with the first reading of every word, with the last of every
        word, then with each reading of one word and the last of the others. At most 12."""
        readings = [words.fields(word, self._scope) for word in arguments]
        for at, word in enumerate(arguments):
            if at and words.is_one_variable(word):
                # Without the whole operand a command fails; it does not reach further.
                readings[at] = [reading for reading in readings[at] if any(reading)] or readings[at]
        last = [len(alternatives) - 1 for alternatives in readings]
        choices = [[0] * len(readings), last]
        for at, alternatives in enumerate(readings):
            choices += [[*last[:at], index, *last[at + 1 :]] for index in range(len(alternatives))]
        seen = dict.fromkeys(
            tuple(
                text
                for alternatives, index in zip(readings, choice, strict=True)
                for text in alternatives[index]
            )
            for choice in choices
        )
        yield from islice((argv for argv in seen if argv), READINGS)

    def _run(
        self, argv: tuple[str, ...], redirections: tuple[Redirection, ...], *, asks: bool = False
    ) -> None:
        """Add a command to `commands`, then the commands that it runs.

        `asks`: whether a wrapper asks before each run.
        """
        # `time -f %e command`: `time` is a program, not the keyword that shfmt read.
        if re.match("-.", argv[0]):
            argv = ("time", *argv)
        path = argv[0]
        name = path.rstrip("/").rpartition("/")[2] or path
        command = replace(self._command(name, argv[1:], redirections), path=path, interactive=asks)
        self._emit(command)
        if self._depth > _DEEPEST:
            raise words.TooMuch("too many commands in each other")
        self._depth += 1
        if name in self._functions and path == name:
            self._invoke(name, argv[1:])
        for inner in inside(name, argv[1:], self._items):
            if inner.text is not None:
                self._read_with(inner.text, inner.words)
            elif inner.words:
                self._run(inner.words, redirections, asks=inner.asks or asks)
        content = self._known.files.get(key(path, self._known.cwd), "") if "/" in path else ""
        if content and marks.is_known(content):
            self._read_leniently(content)
        for text in embedded_scripts(command):
            self._read_leniently(text)
        if name in SHELLS or name in (".", "source", "at", "batch", "crontab"):
            self._scripts(command)
        self._depth -= 1
        self._known.learn(command, self._items)

    def _read_with(self, text: str, arguments: tuple[str, ...]) -> None:
        """Read a script that is called with arguments: `sh -c text name first second`.

        `arguments` begin with the name; if there are none, the outer ones stay.
        """
        before = dict(self._known.variables)
        if arguments:
            self._known.bind(arguments[1:])
        self._read_text(text)
        if arguments:
            self._known.restore(before)

    def _read_leniently(self, text: str) -> None:
        """Read a text that may be shell; drop commands without a known name and parse errors."""
        commands, reasons = len(self.commands), len(self.reasons)
        self._read_text(text, lenient=True)
        self.commands[commands:] = [
            command for command in self.commands[commands:] if marks.is_known(command.name)
        ]
        self.reasons[reasons:] = [
            reason for reason in self.reasons[reasons:] if reason.code is not ReasonCode.UNPARSEABLE
        ]

    def _scripts(self, command: ShellCommand) -> None:
        """Read a shell's standard input, or the file that it runs if this text wrote the file."""
        from_file = [
            self._known.files[place]
            for argument in command.operands[:1]
            if (place := key(argument, self._known.cwd)) in self._known.files
        ]
        for text in from_file:
            if marks.is_known(text):
                self._read_text(text)
        reads_input = (not command.operands and not command.has("c")) or command.has("s")
        reads_input = reads_input or command.operands[:1] in (("/dev/stdin",), ("-",))
        if command.name == "crontab":
            text = command.feed.text or printed_in_part(command.feed.upstream)
            for line in text.splitlines():
                if match := re.match(r"\s*(?:@\w+|(?:\S+\s+){5})(.*)", line):
                    feed, self._feed = self._feed, Feed()  # a job does not read crontab's input
                    self._read_leniently(match[1])
                    self._feed = feed
        elif (reads_input or command.name in ("at", "batch")) and command.feed.text is not None:
            self._read_text(command.feed.text)

    def _invoke(self, name: str, arguments: tuple[str, ...]) -> None:
        """Read a function's body again with the arguments of the call."""
        body = self._functions.pop(name)
        before = dict(self._known.variables)
        self._known.bind(arguments)
        self._statement(body)
        self._known.restore(before)
        self._functions[name] = body

    def _command(
        self, name: str, arguments: tuple[str, ...], redirections: tuple[Redirection, ...]
    ) -> ShellCommand:
        """The command with the input, the directory and the files that are known here."""
        known = self._known
        return ShellCommand(name, arguments, redirections, self._feed, known.cwd, dict(known.files))

    def _emit(self, command: ShellCommand) -> None:
        self._words += len(command.arguments)
        if len(self.commands) >= _MOST_COMMANDS or self._words > _MOST_WORDS:
            raise words.TooMuch("too many commands")
        self.commands.append(command)

    # Assignments, redirections, substitutions

    def _assign(self, assignment: Node) -> str:
        """Set a variable; returns the assignment as `NAME=value`, for the rules."""
        name = assignment.get("Name", {}).get("Value")
        self._read_parts({"Index": assignment.get("Index")})
        if not name:
            return words.texts(assignment.get("Value"), self._scope)[-1]
        if assignment.get("Naked"):
            return str(name)
        if "Array" in assignment:
            elements = assignment["Array"].get("Elems", [])
            self._read_parts({"Indexes": [element.get("Index") for element in elements]})
            texts = [text for e in elements if e.get("Value") for text in self._fields(e["Value"])]
            self._known.variables[name] = (marks.SPLIT.join(texts),)
            return f"{name}="
        values = words.texts(assignment.get("Value"), self._scope)[:READINGS]
        if assignment.get("Append"):
            values = tuple(
                words.bounded(a + b) for a in self._known.variables.get(name, ("",)) for b in values
            )
        self._known.variables[name] = values[:READINGS]
        if name in _COMMAND_VARIABLES:
            self._read_leniently(values[-1])
        return f"{name}={values[-1]}"

    def _redirections(self, statement: Node) -> tuple[Redirection, ...]:
        redirections = []
        for redirection in statement.get("Redirs", []):
            operator = redirection["Op"]
            descriptor = redirection.get("N", {}).get("Value", "")
            if "Hdoc" in redirection:
                targets: tuple[str, ...] = (words.body(redirection["Hdoc"], self._scope),)
            else:
                targets = words.texts(redirection.get("Word"), self._scope)
            redirections += [Redirection(operator, descriptor, target) for target in targets]
        return tuple(redirections)

    def _feed_of(self, redirections: tuple[Redirection, ...]) -> Feed:
        feed = self._feed
        for redirection in redirections:
            if redirection.operator in ("<<", "<<-", "<<<"):
                feed = Feed(redirection.target)
            elif redirection.operator in ("<", "<>") and redirection.descriptor in ("", "0"):
                content = self._known.files.get(key(redirection.target, self._known.cwd))
                text = content if content is not None and marks.is_known(content) else None
                reads = (ShellCommand("cat", (redirection.target,), files=dict(self._known.files)),)
                upstream = (*self._provided.get(redirection.target, ()), *reads)
                feed = Feed(text, upstream, redirection.target)
        return feed

    def _remember_files(
        self, redirections: tuple[Redirection, ...], commands: Sequence[ShellCommand]
    ) -> None:
        """Record what the commands write into files: the text if known, else a mark for its
        origin."""
        for redirection in redirections:
            if redirection.writes and redirection.descriptor in ("", "1"):
                text = printed(tuple(commands))
                content = text if text is not None else marks.ANY + taint(tuple(commands))
                self._known.write(redirection.target, content, appends=not redirection.empties)
                if is_startup(redirection.target, self._known.cwd) and text is not None:
                    self._read_leniently(text)

    def _items(self, separator: str | None = None) -> list[str]:
        """The items that `xargs` reads from standard input, split at `separator`.

        `None` means at unquoted blanks. Unknown items are marks.
        """
        if self._feed.text is None:
            return listing(self._feed.upstream)
        text = self._feed.text
        parts = split_words(text) if separator is None else text.split(separator)
        return [part.strip("\n") for part in parts if part.strip()] or [marks.ANY]

    def _substitute(self, statements: Sequence[Node]) -> tuple[str, ...]:
        commands = self._read_substitution(statements)
        text = printed(commands)
        if text is not None:
            return (text.rstrip("\n"),)
        taints = taint(commands)
        return (taints,) if taints else (marks.SPLIT.join(listing(commands)),)

    def _read_pattern(self, pattern: str) -> None:
        if re.search(r"[$<>=]\(|`|\$\{", pattern):
            self._read_text(f"case x in {pattern}) ;; esac")

    def _provide(self, statements: Sequence[Node]) -> str:
        commands = self._read_substitution(statements)
        text = printed(commands)
        path = f"/dev/fd/{len(self._known.files) + 10}"
        self._known.files[path] = text if text is not None else marks.ANY + taint(commands)
        self._provided[path] = commands
        return path

    def _read_substitution(self, statements: Sequence[Node]) -> tuple[ShellCommand, ...]:
        """Read the statements of a substitution and return its commands.

        Their changes to directory and input don't last.
        """
        started, cwd, feed = len(self.commands), self._known.cwd, self._feed
        self._feed = Feed()
        self._statements(statements)
        self._known.cwd, self._feed = cwd, feed
        return tuple(self.commands[started:])
