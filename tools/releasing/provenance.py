"""Who built which files of what: an in-toto statement with SLSA provenance, as a signed note.

The note's text is the statement, JSON with one value on a line. Below it, after an empty line, is
the signature: the format that evidence uses for checkpoints.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from failproof_es.ledger.note import NoteError, PublicKey, SigningKey, parse, sign
from tools.releasing.artefacts import sha256

FILE = "provenance.note"
STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://slsa.dev/provenance/v1"
BUILD_TYPE = "urn:failproof-es:release:v1"


class NotAsSigned(Exception):
    """A file of the release is missing, differs, or is not named; or nobody known signed it."""


def statement(
    files: Sequence[Path], *, commit: str, source: str, version: str, builder: str, at: str
) -> dict[str, Any]:
    """The statement about these files. `at` is when the commit was made."""
    return {
        "_type": STATEMENT,
        "subject": [{"name": each.name, "digest": {"sha256": sha256(each)}} for each in files],
        "predicateType": PREDICATE,
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {"source": source, "version": version},
                "resolvedDependencies": [
                    {"uri": f"git+{source}", "digest": {"gitCommit": commit}},
                ],
            },
            "runDetails": {
                "builder": {"id": builder},
                "metadata": {"startedOn": at},
            },
        },
    }


def signed(told: dict[str, Any], key: SigningKey) -> str:
    """The note."""
    text = json.dumps(told, indent=2, ensure_ascii=True) + "\n"
    return str(sign(text, key.sign(text)))


def check(folder: Path, key: PublicKey) -> dict[str, Any]:
    """The statement, if the key signed it and it names every file with its digest.

    Raises `NotAsSigned`.
    """
    try:
        note = parse((folder / FILE).read_text(encoding="utf-8"))
        note.verify(key)
        told = json.loads(note.text)
        named = {each["name"]: each["digest"]["sha256"] for each in told["subject"]}
    except (OSError, NoteError) as error:
        raise NotAsSigned(str(error)) from None
    except (ValueError, LookupError, TypeError) as error:
        raise NotAsSigned(f"the statement cannot be read: {error}") from None
    try:
        there = {each.name: sha256(each) for each in folder.iterdir() if each.name != FILE}
    except OSError as error:  # a folder, or what nobody may read
        raise NotAsSigned(f"{error.filename} cannot be read: {error.strerror}") from None
    wrong = [
        *(f"{name} is missing" for name in sorted(named.keys() - there.keys())),
        *(f"{name} is not named" for name in sorted(there.keys() - named.keys())),
        *(f"{n} is another file" for n in sorted(named) if n in there and named[n] != there[n]),
    ]
    if wrong:
        raise NotAsSigned("; ".join(wrong))
    assert isinstance(told, dict)
    return told
