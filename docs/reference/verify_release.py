"""Check the files of a release of failproof-es without failproof-es.

    python verify_release.py FOLDER --key KEY

Python's standard library and `verify_evidence.py` beside this file are all it needs; KEY is the
public key of releases, or a file that holds it. Exit code 0: the key signed the files in FOLDER,
all of them and no others; 1: it did not; 2: wrong usage, or something cannot be read.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from verify_evidence import (
    LOG,
    NoKey,
    NotGenuine,
    check_signatures,
    key_text,
    read_key,
    read_note,
    refuse,
    say,
)

NOTE = "provenance.note"


def verify(folder: Path, key: str) -> dict[str, str]:
    """The SHA-256 of each file, by name. Raises `NotGenuine`, `NoKey`, `OSError`."""
    text, signatures = read_note((folder / NOTE).read_bytes().decode("utf-8"))
    check_signatures(text, signatures, read_key(key, LOG))
    try:
        named = {
            str(each["name"]): str(each["digest"]["sha256"]) for each in json.loads(text)["subject"]
        }
    except (ValueError, LookupError, TypeError):
        refuse("the statement names no files")
    there = {
        each.name: hashlib.sha256(each.read_bytes()).hexdigest()
        for each in folder.iterdir()
        if each.name != NOTE
    }
    for name in sorted(named.keys() | there.keys()):
        if name not in there:
            refuse(f"{name} is missing")
        if name not in named:
            refuse(f"{name} is not named in what was signed")
        if named[name] != there[name]:
            refuse(f"{name} is another file than the one that was signed")
    return there


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Check the files of a release of failproof-es without failproof-es.",
        epilog="Exit code 0: the key signed the files, all of them and no others; 1: it did not; "
        "2: wrong usage, or something cannot be read.",
    )
    parser.add_argument("folder", help="the folder with the files and provenance.note")
    parser.add_argument("--key", required=True, help="the public key, or a file with it")
    given = parser.parse_args(arguments)
    try:
        found = verify(Path(given.folder), key_text(given.key))
    except NotGenuine as reason:
        say(f"NOT genuine: {reason}")
        return 1
    except (NoKey, OSError, ValueError) as why:
        say(f"error: {why}", file=sys.stderr)
        return 2
    say(f"genuine: {len(found)} files")
    for name, digest in sorted(found.items()):
        say(f"  {digest}  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
