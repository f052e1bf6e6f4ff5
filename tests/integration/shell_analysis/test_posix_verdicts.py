"""What belongs to the POSIX shell language, by the edition asked for."""

from __future__ import annotations

import pytest

from failproof_es.shell_analysis.posix import check_posix, check_posix_many
from failproof_es.shell_analysis.posix.rules import Edition
from tests.every import every

SHELL_ONLY = [
    "[[ -n $x ]]", "(( i++ ))", "let x=1", "a=(1 2 3)", "a[0]=1; echo x", "unset 'a[1]'",
    "declare -i n", "local x; x=1", "source ./f", "function f { ls; }", "f-g() { ls; }",
    "echo {1..5}", "mv a{,.old}", "cat <<< word", "sort <(ls)", "ls &> all", "ls &>> all",
    "ls |& cat", "ls >& all", "echo ${v//a/b}", "echo ${v:1:2}", "echo ${!v}", "echo ${v,,}",
    "echo ${v@U}", "echo $RANDOM", "echo $((2**8))", "echo $((16#ff))", "echo $((a,b))",
    "echo $[1+1]", "echo -n x", "echo -e x", "printf -v x y", "printf '%(%F)T'", "read -p a x",
    "read -a list", "read -t 5 x", "for ((;;)); do ls; done", "select x in a; do ls; done",
    "coproc ls", "pushd", "popd", "dirs", "shopt -s nullglob", "mapfile x", "disown", "builtin ls",
    "history", "help cd", "bind -p", "compgen -c", "enable test", "caller", "suspend", "type -a ls",
    "trap ls ERR", "trap ls DEBUG", "trap ls SIGINT", "export -f f", "wait -n", "exec -a x ls",
    "set -o posix", "set -E", "[ a == b ]", "[ a =~ b ]", "[ -v x ]", "test -O f", "ls !(a)",
    "ls [^a]", "cat < /dev/tcp/h/80", "exec {fd}> f", "ls 3>&1-", "cd ~+", "cd ~-", "cd ~2",
    "time { ls; }", "time ls | wc", "x+=y", "case a in a) ls ;;& esac", "ls; exit -1", "alias -p",
    "echo $\"hi\"", "echo $BASHPID", "echo ${#a[@]}", "jobs -x ls", "ulimit -u 5", "f() ls",
]  # fmt: skip
PORTABLE = [
    "[ -n \"$x\" ]", "i=$((i + 1))", "v=${v%.*}", "echo ${v:-x}", "echo ${#v}", ". ./f",
    "f() { ls; }", "f() ( ls )", "cat <<X\n[[ a ]] <(b)\nX", "ls > all 2>&1", "ls >| all",
    "exec 3<> f", "exec 3>&-", "ls 2>&1 | cat", "while read -r l; do echo \"$l\"; done < f",
    "for i; do echo; done", "for i in a b; do echo; done", "case $x in (a|b) ls ;; *) : ;; esac",
    "trap 'rm x' EXIT INT", "trap - INT", "set -eu", "set -o noclobber", "set -- a b", "shift 2",
    "type ls", "command -v ls", "umask 022", "ulimit -f", "getopts ab: o", "time ls", "time -p ls",
    "export A=b", "readonly A", "unset -f f", "eval ls", "exec ls", "printf '%s' x", "kill -9 1",
    "kill -s INT 1", "wait $!", "jobs -l", "fg %1", "cd -", "cd -P x", "cd ~/x", "cd ~bob", "ls ~",
    "echo '[[ x ]]'", "grep '=~' f", "echo a{b", "echo {}", "find . -exec ls {} +", "a=1 b=2 ls",
    "[ a -a b ]", "test ! -e f", "[ -S f ]", "awk '{ a[1]=2 }' f", "sed 's/{1,2}/x/' f",
    "if ! ls; then ls; fi", "until ls; do ls; done", "{ ls; }", "ls & wait", "echo $PPID $LINENO",
    "ls --color=auto", "tar -czf a b", "echo \"$(ls | wc -l)\"", "exit 3", "return 1",
    "echo \\", "# comment\nls", "ls # [[ x ]]",
]  # fmt: skip
SINCE_2024 = [
    "[ a -nt b ]", "test a -ef b", "read -d '' x", "set -o pipefail", "echo $'a\\n'",
    "case a in a) ls ;& b) ls ;; esac", "[ a '<' b ]", "trap -p", "ulimit -n 9",
]  # fmt: skip


@every("edition", ["2017", "2024"])
def test_what_only_some_shells_know_is_not_posix(edition: Edition) -> None:
    verdicts = check_posix_many(SHELL_ONLY, edition)
    assert [c for c, v in zip(SHELL_ONLY, verdicts, strict=True) if v.compliant] == []
    assert all(verdict.reasons for verdict in verdicts)


OPTIONS = {
    "alias": "", "unalias": "a", "command": "pvV", "pwd": "LP", "cd": "LP", "export": "p",
    "readonly": "p", "unset": "fv", "read": "r", "jobs": "lp", "hash": "r", "umask": "S",
    "type": "", "wait": "", "bg": "", "fg": "", "eval": "", "shift": "", "times": "",
}  # fmt: skip
"""The options that POSIX.1-2017 gives the shell's own utilities."""


@every("builtin", OPTIONS)
def test_the_shell_s_own_utilities_have_only_their_options(builtin: str) -> None:
    wrong = [letter for letter in "agsxnpvtLVSflr" if letter not in OPTIONS[builtin]]
    for verdict in check_posix_many([f"{builtin} -{letter} x" for letter in wrong]):
        assert not verdict.compliant, verdict
    right = [f"{builtin} -{letter} x" for letter in OPTIONS[builtin]]
    for verdict in check_posix_many([*right, f"{builtin} -- x", f"{builtin} x"]):
        assert verdict.compliant, (builtin, verdict)


@every(
    ("command", "compliant"),
    [
        ("alias -g G='| less'", False), ("alias -s txt=vim", False), ("alias -p", False),
        ("alias ll='ls -l' -x", True), ("alias", True), ("alias G", True), ("alias -- ll=ls", True),
        ("command -pv ls", True), ("command -p ls -x", True), ("command -x ls", False),
        ("fc -l -3", True), ("fc -e vi 5", True), ("fc -p x", False), ("kill -9 1", True),
        ("kill -TERM 1", True), ("kill -s TERM 1", True), ("kill -l", True), ("kill -n 9 1", False),
        ("kill -L", False), ('kill -"$signal" 1', True), ('alias "$x"', True),
        ("getopts -x a", False), (". -x f", False), (". ./f -x", True),
    ],
)  # fmt: skip
def test_options_of_the_shell_s_own_utilities(command: str, compliant: bool) -> None:
    for verdict in (check_posix(command, "2017"), check_posix(command, "2024")):
        assert verdict.compliant == compliant, verdict


def test_what_posix_has_is_posix() -> None:
    verdicts = check_posix_many(PORTABLE)
    assert [v.reasons for v in verdicts if not v.compliant] == []


def test_the_edition_of_2024_has_more() -> None:
    assert [v.compliant for v in check_posix_many(SINCE_2024, "2017")] == [False] * len(SINCE_2024)
    assert [v.reasons for v in check_posix_many(SINCE_2024, "2024") if v.reasons] == []


def test_the_edition_of_2024_has_no_joined_tests() -> None:
    assert check_posix("[ a -a b ]", "2017").compliant
    assert not check_posix("[ -n a -a -n b ]", "2024").compliant


@every(
    "disarmed",
    [
        "# shellcheck disable=all\n[[ a ]]; echo $RANDOM",
        "# shellcheck shell=bash\necho $RANDOM",
        "#!/bin/bash\nlocal x",
        "ls # x\n# shellcheck disable=SC3000-SC4000\nlet x=1",
        'echo "$(\n# shellcheck disable=all\nlet x=1\n)"',
    ],
)
def test_a_comment_does_not_switch_the_judge_off(disarmed: str) -> None:
    assert not check_posix(disarmed).compliant


def test_the_environment_does_not_switch_the_judge_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELLCHECK_OPTS", "--exclude=SC3039,SC3044 -e SC3010")
    monkeypatch.setenv("PATH", "")
    assert not check_posix("let y=1").compliant


def test_substitutions_too_deep_for_shellcheck_are_judged_at_once() -> None:
    deep = "echo " + "$(echo " * 20 + "x" + ")" * 20
    assert check_posix(deep).reasons[0].startswith("TOO_DEEP")
    assert check_posix("echo " + "$(echo " * 8 + "x" + ")" * 8).compliant


def test_many_verdicts_are_those_of_each_alone() -> None:
    commands = ["ls", "", "[[ a ]]", "if", "ls", "echo \ud800", "let x=1"]
    together = check_posix_many(commands)
    assert together == [check_posix(command) for command in commands]
    assert [verdict.compliant for verdict in together] == [True, False, False, False, True] + [
        False
    ] * 2


@every("text", ["", " ", "# x", "a\0", "if", "x" * 5000])
def test_what_is_no_command_is_not_posix(text: str) -> None:
    verdict = check_posix(text)
    assert not verdict.compliant
    assert verdict.reasons[0].startswith("UNPARSEABLE.")


def test_a_verdict_names_the_versions_that_judged() -> None:
    version = check_posix("ls", "2024").version
    assert "/2024 shfmt-" in version
    assert " shellcheck-" in version


@every(
    "around",
    ["echo $({})", 'echo "`{}`"', "a=$({})", "f() {{ {}; }}", "if ls; then {}; fi", "( {} )",
     "for i in a; do {}; done", "case a in a) {} ;; esac", "ls | while :; do {}; done", "! {}"],
)  # fmt: skip
def test_our_own_rules_look_into_every_part_of_a_command(around: str) -> None:
    verdict = check_posix(around.format("alias -p"))
    assert "BUILTIN_OPTION: alias has no option -p" in verdict.reasons
