"""Every command that reads, as every role: it works, or says which role to use."""

from __future__ import annotations

from pathlib import Path

import pytest

from failproof_es.store.schema.installation import ARCHIVER, AUDITOR, PROJECTOR, WRITER
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, write_configuration, write_suite

READS: dict[str, tuple[str, ...]] = {
    "runs": ("runs",),
    "workers": ("workers",),
    "show": ("show", "1"),
    "show as of": ("show", "1", "--as-of", "20"),
    "results": ("results", "1"),
    "report": ("report", "1", "-o", "{}.html"),
    "report as JSON": ("report", "1", "-o", "{}.json"),
    "diff": ("diff", "1", "1"),
    "log": ("log",),
    "log of a run": ("log", "1"),
    "audit": ("audit", "1"),
    "replay": ("replay", "1"),
    "review status": ("review", "status", "1"),
    "review export": ("review", "export", "1", "{}.csv"),
    "prompts": ("prompts", "list"),
    "verify": ("verify",),
    "verify a run": ("verify", "1"),
    "evidence": ("evidence", "export", "1", "-o", "{}.evidence"),
    "key": ("ledger", "key"),
    "projections": ("projections", "status"),
    "database": ("db", "status"),
}


_NEEDS = {
    AUDITOR: {"evidence": "granted failproof_writer"},
    PROJECTOR: dict.fromkeys(
        (
            "runs",
            "workers",
            "show",
            "show as of",
            "report",
            "report as JSON",
            "verify",
            "verify a run",
            "evidence",
            "key",
        ),
        "granted failproof_auditor to read",
    ),
    ARCHIVER: dict.fromkeys(READS, "grant this user failproof_auditor to read the log")
    | {"database": "permission denied"},
}
"""What each role cannot do, and the message then. All else works. Other tests are the writer."""


@pytest.mark.slow
def test_a_role_reads_or_is_told_which_role_reads(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    write_suite(tmp_path, 3)
    write_configuration(tmp_path, mock_url)
    assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path).exit_code == 0
    for role, needs in _NEEDS.items():
        url = store.url.replace(f"//{WRITER}@", f"//{role}@")
        refused = refused_reads(url, tmp_path, role)
        assert refused.keys() == needs.keys(), role
        for name, message in needs.items():
            assert message in refused[name], (role, name, refused[name])


def refused_reads(url: str, folder: Path, prefix: str) -> dict[str, str]:
    """The output of each command of `READS` that fails, by its name in `READS`."""
    refused: dict[str, str] = {}
    for name, words in READS.items():
        done = invoke(url, *(word.format(f"{prefix} {name}") for word in words), cwd=folder)
        assert "LINE 1" not in done.output and "Error" not in done.output, (name, done.output)
        if done.exit_code:
            refused[name] = done.output
    return refused
