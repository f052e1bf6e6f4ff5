"""Finds code in other languages inside a command, its literals and its shell commands.

It does not parse Python or Perl; it searches for the relevant calls and literals. Texts that a
program gives to a shell are returned, to be read as shell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from failproof_es.shell_analysis.safety.commands import ShellCommand
from failproof_es.shell_analysis.safety.files.places import key
from failproof_es.shell_analysis.safety.text import marks
from failproof_es.shell_analysis.safety.text.client_escapes import escaped_scripts
from failproof_es.shell_analysis.safety.text.escapes import ansi_c
from failproof_es.shell_analysis.safety.text.makefiles import MAKES, make_scripts

RENAMERS = frozenset({"rename", "prename", "perl-rename", "file-rename"})
"""Names of Perl's `rename`, whose first operand is a program, and of util-linux's."""

_CODE_OPTIONS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "perl": ("eE", ()),
    **dict.fromkeys(("node", "nodejs"), ("ep", ("--eval", "--print"))),
    **dict.fromkeys(("bun", "julia", "elixir"), ("e", ("--eval",))),
    "php": ("r", ("--run",)),
    "gdb": ("", ("-ex", "--eval-command")),
    **dict.fromkeys(("pwsh", "powershell"), ("c", ("-Command", "-c", "-command"))),
    **dict.fromkeys(("python", "pypy", "expect", "guile"), ("c", ())),
    **dict.fromkeys(
        ("ruby", "lua", "luajit", "Rscript", "osascript", "groovy", "ghc", "scala"), ("e", ())
    ),
    **dict.fromkeys(("tclsh", "jshell", "irb", "deno"), ("", ())),
}
_AWKS = frozenset({"awk", "gawk", "mawk", "nawk", "original-awk"})
_VERSIONED = re.compile(r"(python|pypy|perl|ruby|node|lua|php|Rscript|guile)[\d.]*w?")
_LITERAL = re.compile(
    r"'''(?P<a>.*?)'''|\"\"\"(?P<b>.*?)\"\"\"|'(?P<c>(?:[^'\\]|\\.)*)'|\"(?P<d>(?:[^\"\\]|\\.)*)\""
    r"|`(?P<e>[^`]*)`|(?:qx|q|qq|%x|%q)(?:\{(?P<f>[^}]*)\}|\((?P<g>[^)]*)\)|/(?P<h>[^/]*)/)",
    re.DOTALL,
)
_RUNS_SHELL = re.compile(
    r"\b(system|popen[234]?|exec\w*|spawn\w*|subprocess|getoutput|check_output|check_call|Popen"
    r"|shell_exec|passthru|proc_open|pcntl_exec|child_process|execSync|spawnSync|os\.execute"
    r"|io\.popen|Open3|IO\.popen|do shell script|Runtime|ProcessBuilder|shell|run)\b|`|\bqx\b|%x"
)
_LIST = re.compile(
    r"[\[(]\s*((?:(?:'[^']*'|\"[^\"]*\")\s*,\s*)+(?:'[^']*'|\"[^\"]*\"))\s*,?\s*[\])]"
)
_WORD_LIST = re.compile(r"(?:qw|%w)\s*[\[({/]([^\])}/]*)[\])}/]")
_AWK_RUNS = re.compile(r"system\s*\(|\|\s*(getline|\")|\"\s*\|")
_SED_RUNS = re.compile(
    r"(?:^|[;{}\n]|\d|/)\s*e\s+(\S.*)|s(.)(?:(?!\2).)*\2((?:(?!\2).)*)\2\w*e\w*$"
)
_RUNNERS = (
    r"\b(?:exec|eval|system|popen[234]?|getoutput|check_output|check_call|call|run|Popen|execSync"
    r"|shell_exec|passthru|instance_eval|loadstring)\b"
)
_INPUT = (
    r"(?:\$?\b(?:sys\.)?(?:stdin|STDIN)\b|<>|\$_\b|\binput\(\)|\bgets\b|\bARGF\b|io\.read"
    r"|open\(0|readFileSync\(0|(?:open|readFileSync|file_get_contents)\(['\"](?:/dev|php:/)/stdin)"
)
_RUNS_INPUT = re.compile(
    rf"{_RUNNERS}[\s(<]*(?:compile\(|fs\.|require\([^)]*\)\.|['\"])?{_INPUT}"
    rf"|{_INPUT}.*{_RUNNERS}[\s(]+\$?[A-Za-z_]\w*\s*(?:[),;}}\n]|$)|`[^`]*{_INPUT}",
    re.DOTALL,
)
_AWK_RUNS_INPUT = re.compile(
    r"system\s*\(\s*\$?\w+\s*\)|\$\w+\s*\|\s*getline|\|\s*\"[^\"]*\b(?:ba|da|z|k)?sh\b"
)
_SED_RUNS_INPUT = re.compile(
    r"(?:^|[;{}\n\d/$])\s*e\s*(?:[;}\n]|$)|s(.)(?:(?!\1).)*\1(?:(?!\1).)*\1\w*e\w*\s*(?:[;}\n]|$)"
)
"""Code that gives its standard input to a shell or an interpreter."""
_READS_NETWORK = re.compile(
    r"urlopen|urlretrieve|requests\.(get|post)|urllib|http\.client|httpx|LWP|HTTP::Tiny|Net::HTTP"
    r"|open-uri|URI\.open|\bfetch\s*\(|https?\.get|file_get_contents\s*\(\s*['\"]https?:"
    r"|curl_exec|socket\.http|DownloadString|Invoke-WebRequest|\biwr\b|WebClient|\bhttps?://"
)


def language(name: str) -> str | None:
    """The language that the program `name` interprets, such as `python` for `python3.12`.

    `None` if it is no interpreter.
    """
    if name in _AWKS:
        return "awk"
    match = _VERSIONED.fullmatch(name)
    base = match[1] if match else name
    return base if base in _CODE_OPTIONS else None


def program_text(command: ShellCommand) -> str:
    """The program in the arguments of an interpreter, on its standard input, or in its script file,
    if the content is known; empty if the command is no interpreter or its program is unknown."""
    spoken = language(command.name)
    if spoken is None:
        return ""
    if spoken == "awk":
        operands = command.operands_without("Fvf")
        return "" if command.has("f") or not operands else operands[0]
    letters, names = _CODE_OPTIONS[spoken]
    texts = [text for letter in letters for text in command.values(letter)]
    texts += command.values("", *names) if names else []
    if spoken == "deno" and command.arguments[:1] == ("eval",):
        texts += command.arguments[1:]
    if not texts and (not command.operands or command.operands[0] == "-"):
        texts += [command.feed.text or ""]
    if not texts:
        texts += [command.files.get(key(path, command.cwd), "") for path in command.operands[:1]]
    return "\n".join(marks.plain(text) for text in texts)


def reads_feed_as_program(command: ShellCommand) -> bool:
    """Whether the command is an interpreter that reads its program from standard input."""
    spoken = language(command.name)
    if spoken is None:
        return False
    if spoken == "awk":
        return any(path in ("-", "/dev/stdin") for path in command.values("f", "--file"))
    letters, names = _CODE_OPTIONS[spoken]
    if any(command.values(letter) for letter in letters) or command.values("", *names):
        return False
    if command.has("m") and spoken in ("python", "pypy"):
        return False
    return not command.operands or command.operands[0] in ("-", "/dev/stdin")


def runs_input(command: ShellCommand) -> bool:
    """Whether a program in the command's arguments gives lines of standard input to a shell or an
    interpreter."""
    if command.name in ("sed", "gsed"):
        return any(map(_SED_RUNS_INPUT.search, _sed_scripts(command)))
    pattern = _AWK_RUNS_INPUT if language(command.name) == "awk" else _RUNS_INPUT
    return bool(pattern.search(program_text(command)))


def _sed_scripts(command: ShellCommand) -> list[str]:
    return [*command.values("e", "--expression"), *command.operands[:1]]


def reads_network(code: str) -> bool:
    """Whether the code reads from the network."""
    return bool(_READS_NETWORK.search(code))


def literals(code: str) -> list[str]:
    """The string literals in the code, with escapes replaced."""
    return [ansi_c(text) for match in _LITERAL.finditer(code) for text in match.groups() if text]


def embedded_scripts(command: ShellCommand) -> list[str]:
    """The texts in a command that it may give to a shell; some may not be shell.

    They stand in programs of `sed`, `awk`, `make`, Python and similar, in aliases of `git` and in
    shell escapes of clients.
    """
    if command.name in ("sed", "gsed"):
        matches = [_SED_RUNS.search(script) for script in _sed_scripts(command)]
        return [match[1] or match[3] for match in matches if match and (match[1] or match[3])]
    if command.name == "git":
        return list(_git_aliases(command))
    if command.name in MAKES:
        return make_scripts(command)
    if command.name in RENAMERS:
        texts = [*command.values("e", "--expr"), *command.operands[:1]]
        return [literal for text in texts if _RUNS_SHELL.search(text) for literal in literals(text)]
    if scripts := escaped_scripts(command):
        return scripts
    code = program_text(command)
    if not code:
        return []
    if language(command.name) == "awk":
        return _with_joined(literals(code)) if _AWK_RUNS.search(code) else []
    if not _RUNS_SHELL.search(code):
        return []
    joined = [" ".join(literals(match[1])) for match in _LIST.finditer(code)]
    joined += [match[1] for match in _WORD_LIST.finditer(code)]
    inner = [
        text
        for literal in literals(code)
        if _RUNS_SHELL.search(literal)
        for text in literals(literal)
    ]
    return list(dict.fromkeys([*joined, *_with_joined(literals(code)), *inner]))


def _with_joined(texts: list[str]) -> list[str]:
    """The literals, and in addition each that ends in a space joined with the next:
    `"rm -rf " "/"`."""
    return [*texts, *(a + b for a, b in pairwise(texts) if a.endswith(" "))]


def _git_aliases(command: ShellCommand) -> Iterator[str]:
    for value in [*command.values("c"), *command.arguments]:
        _, _, text = value.rpartition("=!")
        if text != value:
            yield text
        elif value.startswith("!"):
            yield value[1:]
