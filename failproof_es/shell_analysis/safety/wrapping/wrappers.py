"""Unwraps commands that run other commands.

Their options are read as their own parsers read them (`options.py`, `wrappers.toml`). An option
that the table lacks may or may not take the next word as its value, and the following words may
be the wrapper's own or the command: each of these readings is judged.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from itertools import pairwise

from failproof_es.shell_analysis.safety.files.find_command import find_items
from failproof_es.shell_analysis.safety.options import ParsedOptions
from failproof_es.shell_analysis.safety.text import marks
from failproof_es.shell_analysis.safety.text.escapes import ansi_c
from failproof_es.shell_analysis.safety.wrapping.inner_commands import (
    Inner,
    readings,
    runs,
    subcommands,
)
from failproof_es.shell_analysis.safety.wrapping.terminals import in_screen, in_tmux, split_words
from failproof_es.shell_analysis.safety.wrapping.wrapper_table import wrapper_table

SHELLS = frozenset(
    {"sh", "bash", "dash", "zsh", "ksh", "ksh93", "mksh", "ash", "fish", "csh", "tcsh", "yash",
     "rbash", "pdksh", "oksh", "hush"}
)  # fmt: skip

_TABLE = wrapper_table()
WRAPPERS = frozenset(name for name in _TABLE if " " not in name)
"""Programs that run the command in their arguments."""


Items = Callable[[str | None], list[str]]
"""Returns the items that `xargs` reads, split at a separator; `None`: at unquoted blanks."""


def inside(name: str, arguments: tuple[str, ...], items: Items) -> list[Inner]:
    """The commands that the program `name` runs with these arguments, one level deep.

    `items` returns the items that `xargs` or `parallel` reads from standard input.
    """
    special = _SPECIAL.get(name)
    if special is not None:
        return special(arguments)
    if name not in WRAPPERS:
        return []
    wrapper = _TABLE[name]
    inner_commands = []
    for parsed in readings(wrapper, arguments):
        if parsed.has(*wrapper.asks):
            continue
        if name in ("xargs", "gxargs"):
            inner_commands += _xargs_commands(parsed, items(_separator(parsed)))
        elif name == "parallel":
            inner_commands += _parallel(parsed, items("\n"))
        else:
            inner_commands += runs(wrapper, parsed)
    return list(dict.fromkeys(inner_commands))


def assigned(name: str, arguments: tuple[str, ...]) -> list[str]:
    """Assignments that the wrapper `name` may make for its command: `env A=b command`,
    `strace -E A=b command`. The values of all its other options are among them."""
    wrapper = _TABLE.get(name)
    if wrapper is None:
        return []
    return [
        word
        for parsed in readings(wrapper, arguments)
        for word in (*parsed.assigned, *(value for _, value in parsed.options if value))
    ]


def _separator(parsed: ParsedOptions) -> str | None:
    """The separator of the items that `xargs` reads; `None` for unquoted blanks."""
    if parsed.has("-0", "--null"):
        return "\0"
    if delimiters := parsed.values("-d", "--delimiter"):
        return ansi_c(delimiters[-1])
    return "\n" if parsed.has("-I", "-i", "--replace", "-J") else None


def _xargs_commands(parsed: ParsedOptions, items: list[str]) -> list[Inner]:
    """The commands of `xargs`: its words with each item inserted, or with all items appended."""
    words = parsed.words
    if not words:
        return []
    asks = parsed.has("-p", "--interactive")
    names = ("-I", "-J", "-i", "--replace")
    places = [value or "{}" for name, value in parsed.options if name in names]
    if places and any(places[-1] in word for word in words):
        return [
            Inner(tuple(_insert_item(word, places[-1], item) for word in words), asks=asks)
            for item in items
        ]
    return [Inner((*words, *items), asks=asks)]


def _insert_item(word: str, place: str, item: str) -> str:
    """The word with the item in place of `place`; after a folder only the item's last component."""
    if f"/{place}" in word:
        item = item.rpartition("/")[2]
    return word.replace(place, item)


_SOURCES = (":::", ":::+", "::::", "::::+")
_PLACES = re.compile(r"\{(?:[-+]?\d+)?(?:[./%#]|//|/\.)?\}")


def _parallel(parsed: ParsedOptions, items: list[str]) -> list[Inner]:
    """The shell texts that GNU `parallel` runs, one for each item.

    Its words before `:::` are a template: the item replaces `{}` and similar, or is appended. Items
    are the words after `:::`, else `items`, the lines of standard input; `::::` adds an unknown
    item. Without a template the known items are the texts.
    """
    words = parsed.words
    start = next((at for at, word in enumerate(words) if word in _SOURCES), len(words))
    template, sources = " ".join(words[:start]), words[start:]
    if sources:
        items = []
        for word in sources:
            if word in _SOURCES:
                source = word
            else:
                items.append(word if source.startswith(":::") and len(source) < 5 else marks.ANY)
        if any(word.startswith("::::") for word in sources):
            items.append(marks.ANY)
    if not template:
        relevant_items = [item for item in items if marks.is_known(item) or marks.taints(item)]
        return [Inner(text=item) for item in relevant_items]
    places = [value or "{}" for name, value in parsed.options if name in ("-I", "-i", "--replace")]
    place = re.compile(re.escape(places[-1])) if places else _PLACES
    quoted = [item if re.fullmatch(r"[^\s;&|<>()$`\"'\\]*", item) else shlex.quote(item)
              for item in items]  # fmt: skip
    if place.search(template):
        return [
            Inner(text=place.sub(lambda _, item=item: item, template))  # type: ignore[misc]
            for item in quoted
        ]
    return [Inner(text=f"{template} {item}") for item in quoted] or [Inner(text=template)]


def _shell(arguments: tuple[str, ...]) -> list[Inner]:
    """The commands of a shell with `-c text`, also in bundles: `bash -lc`, `sh -eo pipefail -c`."""
    takes_text = False
    pending = list(arguments)
    texts = []
    while pending and pending[0].startswith(("-", "+")) and len(pending[0]) > 1:
        word = pending.pop(0)
        name, equals, value = word.partition("=")
        if word == "--":
            break
        if name in ("--command", "--init-command") and equals:
            texts.append(value)
        elif word.startswith("--"):
            takes_text = takes_text or word == "--command"
            if word in ("--rcfile", "--init-file", "--init-command"):
                pending = pending[1:]
        else:
            takes_text = takes_text or (word[0] == "-" and "c" in word)
            pending = pending[sum(letter in "oO" for letter in word[1:]) :]
    inner_commands = [Inner(text=text) for text in texts]
    if not takes_text or not pending:
        return inner_commands
    return [*inner_commands, Inner(tuple(pending[1:]), pending[0])]


def _find(arguments: tuple[str, ...]) -> list[Inner]:
    inner_commands = []
    items = find_items(arguments)
    at = 0
    while at < len(arguments):
        if arguments[at] in ("-exec", "-execdir", "-ok", "-okdir"):
            end = at + 1
            while end < len(arguments) and not _ends_exec(arguments, end):
                end += 1
            words = arguments[at + 1 : end]
            for item in items:
                inner = tuple(word.replace("{}", item) for word in words)
                inner_commands.append(Inner(inner, asks=arguments[at].startswith("-ok")))
            at = end
        at += 1
    return inner_commands


def _ends_exec(arguments: tuple[str, ...], at: int) -> bool:
    """Whether the word at an index ends the command of `-exec`: `;`, or `+` after `{}` or at the
    end."""
    if arguments[at] == ";":
        return True
    return arguments[at] == "+" and (arguments[at - 1] == "{}" or at == len(arguments) - 1)


def _fd(arguments: tuple[str, ...]) -> list[Inner]:
    for at, word in enumerate(arguments):
        match = re.fullmatch(r"(?:-[A-Za-wyz0-9]*[xX]|--exec(?:-batch)?)(?:=(.*))?", word)
        if match:
            words = (*([match[1]] if match[1] else []), *arguments[at + 1 :])
            return [Inner((*words, f"./{marks.ANY}") if "{}" not in words else words)]
    return []


def _env(arguments: tuple[str, ...]) -> list[Inner]:
    """The command that `env` runs; the words in `-S` are arguments of `env` before the others."""
    inner_commands = []
    for parsed in readings(_TABLE["env"], arguments):
        texts = parsed.values("-S", "--split-string")
        if texts:
            inner_commands.append(Inner(("env", *split_words(texts[-1]), *parsed.words)))
        elif parsed.words:
            inner_commands.append(Inner(parsed.words))
    return inner_commands


def _runuser(arguments: tuple[str, ...]) -> list[Inner]:
    """The commands that `runuser -u user command` runs; without `-u` those of `su`."""
    direct = _TABLE["runuser -u"]
    inner_commands = [
        Inner(text=text) for p in readings(direct, arguments) for text in p.values(*direct.text)
    ]
    for parsed in readings(direct, arguments):
        if parsed.has("-u", "--user"):
            return [*inner_commands, *runs(direct, parsed)]
    return _run_by_table("su", arguments)


def _run_by_table(name: str, arguments: tuple[str, ...]) -> list[Inner]:
    wrapper = _TABLE[name]
    return [inner for parsed in readings(wrapper, arguments) for inner in runs(wrapper, parsed)]


def _start_stop_daemon(arguments: tuple[str, ...]) -> list[Inner]:
    """The commands that `start-stop-daemon --exec program -- arguments` runs."""
    return [
        Inner((program, *parsed.words))
        for parsed in readings(_TABLE["start-stop-daemon"], arguments)
        for program in parsed.values("-a", "--startas", "-x", "--exec")
    ]


def _ssh(name: str) -> Callable[[tuple[str, ...]], list[Inner]]:
    """A function that finds the commands of `ssh host 'text'` and of settings such as
    `-o ProxyCommand=...`; `name` is the program in the table."""
    wrapper = _TABLE[name]

    def find(arguments: tuple[str, ...]) -> list[Inner]:
        inner_commands = []
        for parsed in readings(wrapper, arguments):
            for setting in parsed.values("-o"):
                match = re.fullmatch(r"\s*(\w*command)\s*[=\s]\s*(.+)", setting, re.I | re.DOTALL)
                if match and match[2].lower() != "none":
                    inner_commands.append(Inner(text=match[2].strip("\"'")))
            if not parsed.has(*wrapper.asks):
                inner_commands += runs(wrapper, parsed)
        return list(dict.fromkeys(inner_commands))

    return find


def _container(program: str) -> Callable[[tuple[str, ...]], list[Inner]]:
    """A function that finds the command of `docker exec [options] name command`.

    `program` is `docker` or `kubectl`. Commands of `run` are isolated and not found.
    """

    def find(arguments: tuple[str, ...]) -> list[Inner]:
        return [
            inner
            for words in subcommands(_TABLE[f"{program} options"], arguments)
            if words[:1] == ("exec",)
            for inner in _run_by_table(f"{program} exec", words[1:])
        ]

    return find


_GIT_COMMANDS = re.compile(
    r"(?i)(?:core\.(?:pager|editor|sshcommand)|sequence\.editor|diff\.external|pager\.\w+"
    r"|[\w.]+\.textconv)=(.+)"
)


def _git(arguments: tuple[str, ...]) -> list[Inner]:
    """The commands of `git bisect run`, `submodule foreach`, `rebase --exec`, `filter-branch`, and
    of settings such as `core.pager`."""
    inner_commands = []
    for parsed in readings(_TABLE["git options"], arguments):
        for setting in parsed.values("-c"):
            if match := _GIT_COMMANDS.fullmatch(setting):
                inner_commands.append(Inner(text=match[1]))
        words = parsed.words
        if words[:2] == ("bisect", "run") and words[2:]:
            inner_commands.append(Inner(words[2:]))
        elif words[:2] == ("submodule", "foreach"):
            rest = [word for word in words[2:] if word not in ("--recursive", "--quiet", "-q")]
            inner_commands.append(Inner(text=" ".join(rest)))
        elif words[:1] == ("rebase",):
            inner_commands += _options_with_commands("-x", "--exec")(words[1:])
        elif words[:1] == ("filter-branch",):
            inner_commands += [Inner(text=b) for a, b in pairwise(words) if a.endswith("-filter")]
    return inner_commands


def _text_operand(arguments: tuple[str, ...]) -> list[Inner]:
    """The first operand as a script, if others follow: `trap 'text' EXIT`."""
    operands = [word for word in arguments if not word.startswith("-")]
    return [Inner(text=operands[0])] if len(operands) > 1 else []


def _alias(arguments: tuple[str, ...]) -> list[Inner]:
    return [Inner(text=word.partition("=")[2]) for word in arguments if "=" in word]


def _options_with_commands(*options: str) -> Callable[[tuple[str, ...]], list[Inner]]:
    """A function that finds the commands in the values of a program's options:
    `tar --to-command=...`, `rsync -ave '...'`."""

    def find(arguments: tuple[str, ...]) -> list[Inner]:
        inner_commands = []
        for at, word in enumerate(arguments):
            following = arguments[at + 1] if at + 1 < len(arguments) else ""
            for option in options:
                name, letter = option, option[1:] if len(option) == 2 else ""
                bundle, there, attached = word[1:].partition(letter) if letter else ("", "", "")
                if word.startswith(f"{name}="):
                    inner_commands.append(Inner(text=word[len(name) + 1 :]))
                elif word == name and not name.endswith("=exec") and following:
                    inner_commands.append(Inner(text=following))
                elif (
                    there
                    and word[0] == "-"
                    and (not bundle or bundle.isalpha())
                    and (text := attached or following)
                ):
                    inner_commands.append(Inner(text=text))
        return inner_commands

    return find


def _bind(arguments: tuple[str, ...]) -> list[Inner]:
    """The shell command in `bind -x '"key": command'`."""
    bindings = _options_with_commands("-x")(arguments)
    return [Inner(text=(binding.text or "").partition(":")[2]) for binding in bindings]


def _editor(arguments: tuple[str, ...]) -> list[Inner]:
    """The shell commands of `vim -c ':!command'`, `ex +'!command'`."""
    texts = [word.lstrip("+").lstrip(":").lstrip() for word in arguments]
    return [Inner(text=text[1:]) for text in texts if text.startswith("!")]


_SPECIAL: dict[str, Callable[[tuple[str, ...]], list[Inner]]] = {
    **dict.fromkeys(SHELLS, _shell),
    **dict.fromkeys(("find", "gfind"), _find),
    **dict.fromkeys(("fd", "fdfind"), _fd),
    "trap": _text_operand,
    "alias": _alias,
    "git": _git,
    **dict.fromkeys(("env", "genv"), _env),
    "runuser": _runuser,
    "start-stop-daemon": _start_stop_daemon,
    "ssh": _ssh("ssh"),
    "autossh": _ssh("autossh"),
    "screen": in_screen,
    "tmux": in_tmux,
    "tar": _options_with_commands(
        "--checkpoint-action=exec", "--to-command", "--use-compress-program", "--rsh-command", "-I"
    ),
    "rsync": _options_with_commands("-e", "--rsh"),
    "zip": _options_with_commands("-TT", "--unzip-command"),
    "sort": _options_with_commands("--compress-program"),
    "split": _options_with_commands("--filter"),
    **dict.fromkeys(("mapfile", "readarray", "complete", "compgen"), _options_with_commands("-C")),
    "bind": _bind,
    "tcpdump": _options_with_commands("-z"),
    "dpkg": _options_with_commands("--pre-invoke", "--post-invoke"),
    "man": _options_with_commands("-P", "--pager"),
    "expect": _options_with_commands("-c"),
    **dict.fromkeys(("vim", "vi", "nvim", "ex"), _editor),
    **dict.fromkeys(("docker", "docker-compose", "podman", "nerdctl"), _container("docker")),
    **dict.fromkeys(("kubectl", "oc"), _container("kubectl")),
}
