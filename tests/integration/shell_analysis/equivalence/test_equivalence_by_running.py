"""Modes of `chmod` and patterns of `grep` that are called equal do the same when they are run."""

# ruff: noqa: E501  a pair stands on one line
from __future__ import annotations

import stat
import subprocess
from itertools import combinations, product
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from failproof_es.shell_analysis.equivalence import EquivalenceVerdict, compare
from tests.every import every
from tests.examples import examples

MODES = (
    "444", "0444", "a=r", "ugo=r", "=r", "u=r,g=r,o=r", "u=r,go=r", "00444", "000444",
    "755", "0755", "00755", "u=rwx,go=rx", "u=wxr,og=xr", "a=rx,u=rwx", "a=rwx,go-w", "u=rwx,g=rx",
    "644", "u=rw,go=r", "u=rw,g=r,o=r", "go=r,u=rw", "u=rw,g=r,o=", "640", "0", "000", "00000",
    "a=", "=", "u=,go=", "a+x", "ugo+x", "+x", "u+x", "a+xx", "u+x,g+x,o+x", "a+X", "u+s", "4755",
    "u=rwxs,go=rx", "g+s", "2755", "1755", "a=rx,o+t", "a=rwx,o=t", "g=u", "u=rw,g=u,o=u", "a-w",
    "ugo-w", "go-w", "og-w", "a=r,u+w", "a=rX", "u=r,g=r", "7", "07", "007", "0007", "00007",
    "u=rw,u=r,go=r", "o=r,a=r", "a=r,o=r", "u+r-w", "u+r,u-w", "u-w+r",
)  # fmt: skip
BEFORE = (0o000, 0o644, 0o755, 0o777, 0o2755, 0o4755, 0o6711, 0o1777, 0o7777, 0o2070)
UMASKS = (0o000, 0o022, 0o077, 0o137)


def _effects(mode: str, folder: Path) -> tuple[int, ...]:
    """The modes that `chmod` leaves on files and folders, from every mode, under every umask."""
    found = []
    for at, (before, mask, is_folder) in enumerate(product(BEFORE, UMASKS, (False, True))):
        path = folder / f"{at}"
        path.mkdir() if is_folder else path.touch()
        path.chmod(before)
        found.append((path, mask))
    for mask in UMASKS:
        paths = [str(path) for path, its in found if its == mask]
        subprocess.run(["chmod", mode, *paths], check=True, umask=mask)
    return tuple(stat.S_IMODE(path.stat().st_mode) for path, _ in found)


def test_modes_called_equal_do_the_same_to_files_and_folders_under_any_umask(
    tmp_path: Path,
) -> None:
    effects = {}
    for at, mode in enumerate(MODES):
        (tmp_path / str(at)).mkdir()
        effects[mode] = _effects(mode, tmp_path / str(at))
    equal = [
        pair
        for pair in combinations(MODES, 2)
        if compare(f"chmod {pair[0]} f", f"chmod {pair[1]} f").verdict is EquivalenceVerdict.EQUAL
    ]
    assert len(equal) > 40
    assert [(a, b) for a, b in equal if effects[a] != effects[b]] == []


def test_masks_called_equal_leave_the_same_mask() -> None:
    masks = ("0", "000", "22", "022", "0022", "27", "077", "0077", "777", "u=rwx,go=rx", "-S")
    shown = {
        mask: subprocess.run(
            ["bash", "-c", f"umask {mask}; umask"], check=True, capture_output=True, text=True
        ).stdout
        for mask in masks
    }
    equal = [
        pair
        for pair in combinations(masks, 2)
        if compare(f"umask {pair[0]}", f"umask {pair[1]}").verdict is EquivalenceVerdict.EQUAL
    ]
    assert len(equal) == 5
    assert all(shown[a] == shown[b] for a, b in equal)


@every(
    ("one", "other"),
    [
        ("chmod 444 f", "chmod a=r f"), ("chmod 0755 f", "chmod 755 f"), ("chmod 7 f", "chmod 007 f"),
        ("chmod 644 a b", "chmod u=rw,go=r b a"), ("chmod -R a=rx d", "chmod --recursive 555 d"),
        ("chmod a+x f", "chmod ugo+x f"), ("chmod u=rw,g=r,o= f", "chmod 640 f"),
        ("chmod 00755 f", "chmod 000755 f"), ("chmod a= f", "chmod 0 f"),
        ("umask 022", "umask 0022"), ("umask 22", "umask 022"), ("mkdir -m 0755 d", "mkdir --mode=755 d"),
        ("install -m0644 a b", "install -m 644 a b"), ("sudo chmod 0600 f", "sudo chmod 600 f"),
        ("find . -exec chmod 0644 {} +", "find . -exec chmod a=r,u=rw {} +"),
        ("egrep foo f", "grep foo f"), ("grep -E foo f", "grep foo f"), ("grep -G 'a+' f", "grep 'a+' f"),
        ("grep -Eir '^err.*x$' d", "grep -ri '^err.*x$' d"), ("grep -E '[a-z_]*' f", "grep '[a-z_]*' f"),
        ("ps aux | egrep -v root", "ps aux | grep -v root"), ("grep -Ee a -e b f", "grep -e a -e b f"),
    ],
)  # fmt: skip
def test_modes_and_patterns_in_two_spellings_are_equal(one: str, other: str) -> None:
    assert compare(one, other).verdict is EquivalenceVerdict.EQUAL


@every(
    ("one", "other"),
    [
        ("chmod 00755 f", "chmod 755 f"), ("chmod =r f", "chmod a=r f"), ("chmod +x f", "chmod a+x f"),
        ("chmod u=rw,g=r f", "chmod 640 f"), ("chmod 1755 f", "chmod 755 f"),
        ("chmod a=rX f", "chmod a=rx f"), ("chmod g=u f", "chmod g=rwx f"),
        ("chmod --reference=m 0755", "chmod --reference=m 755"), ("chmod 644 0755", "chmod 644 755"),
        ("umask 022", "umask 002"), ("umask", "umask 0"), ("umask -S 022", "umask 022"),
        ("mkdir -m 00755 d", "mkdir -m 755 d"), ("mkdir -m 1755 d", "mkdir -m 755 d"),
        ("chmod u+x,u-x f", "chmod u-x,u+x f"), ("chmod 8 f", "chmod 08 f"),
        ("egrep 'a+' f", "grep 'a+' f"), ("egrep 'a|b' f", "grep 'a|b' f"), ("egrep 'a{2}' f", "grep 'a{2}' f"),
        ("grep -E '(a)' f", "grep '(a)' f"), ("grep -E 'a\\.b' f", "grep -F 'a.b' f"),
        ("grep -E '*a' f", "grep '*a' f"), ("grep -E 'a^b' f", "grep 'a^b' f"),
        ("grep -E 'a$b' f", "grep 'a$b' f"), ("grep -E 'a**' f", "grep 'a**' f"),
        ("grep -E \"$x\" f", "grep \"$x\" f"), ("grep -E -f p f", "grep -f p f"),
        ("grep -E -F foo f", "grep foo f"), ("grep -P foo f", "grep foo f"),
        ("grep -Ee a -e 'b+' f", "grep -e a -e 'b+' f"), ("grep -F foo f", "grep -E 'f.o' f"),
    ],
)  # fmt: skip
def test_modes_and_patterns_that_differ_somewhere_are_not_equal(one: str, other: str) -> None:
    assert compare(one, other).verdict is not EquivalenceVerdict.EQUAL


TEXT = st.lists(
    st.text("abA *+?|(){}.^$[]-_\\1", max_size=8).map(lambda line: line + "\n"), max_size=12
).map("".join)


@settings(max_examples=examples(1.5), database=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    pattern=st.text("abA*.^$[]-_ \\+?|(){}", min_size=1, max_size=6),
    option=st.sampled_from(["", "-i", "-w", "-x", "-o", "-c", "-v"]),
    text=TEXT,
)
def test_patterns_called_equal_find_the_same(pattern: str, option: str, text: str) -> None:
    quoted = pattern.replace("'", "")
    basic, extended = f"grep {option} -e '{quoted}' f", f"grep -E {option} -e '{quoted}' f"
    if compare(basic, extended).verdict is not EquivalenceVerdict.EQUAL:
        return
    outcomes = []
    for language in ("-G", "-E"):
        words = ["grep", language, *option.split(), "-e", quoted]
        done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
        outcomes.append((done.returncode, done.stdout))
    assert outcomes[0] == outcomes[1]
