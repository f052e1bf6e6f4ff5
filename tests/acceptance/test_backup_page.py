"""docs/how-to/backup.md: its commands, from one server to another; an older backup."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from failproof_es.store.embedded.server import EmbeddedServer
from tests.acceptance.commands import environment, invoke, write_configuration, write_suite
from tests.documented import ROOT, blocks
from tests.own_server import own_server

PAGE = ROOT / "docs" / "how-to" / "backup.md"
SESSIONS = [block.text for block in blocks(PAGE) if block.language == "console"]


def typed(session: str, old: EmbeddedServer, new: EmbeddedServer, folder: Path) -> str:
    """Type the commands of a session of the page; what they print."""
    programs = f"{Path(old.psql[0]).parent}:{Path(sys.executable).parent}"
    script = "set -e\n" + "\n".join(line.removeprefix("$ ") for line in session.splitlines())
    variables = environment(old.url, OLD=old.url, NEW=new.url, PYTHONPATH=str(ROOT))
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={**variables, "PATH": f"{programs}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_restored_database_is_genuine_and_an_older_one_is_refused_until_it_is_repaired(
    tmp_path: Path, mock_url: str
) -> None:
    dump, restore = SESSIONS
    write_suite(tmp_path, 2)
    write_configuration(tmp_path, mock_url)
    with own_server() as old, own_server() as new:
        assert invoke(old.url, "db", "init", cwd=tmp_path).exit_code == 0
        start = ("start", "run.yaml", "--quiet")
        assert invoke(old.url, *start, cwd=tmp_path).exit_code == 0
        typed(dump, old, new, tmp_path)
        assert "genuine" in typed(restore, old, new, tmp_path)

        assert invoke(old.url, *start, cwd=tmp_path).exit_code == 0  # in the old one: it is newer
        refused = invoke(new.url, *start, cwd=tmp_path)
        assert refused.exit_code == 1 and "an older backup restored" in refused.stderr
        assert "or an older backup restored" in invoke(new.url, "verify", cwd=tmp_path).output
        repair = ("ledger", "repair", "--force", "--reason", "restored the backup of Monday")
        done = invoke(new.url, *repair, cwd=tmp_path)
        assert done.exit_code == 0, done.output
        assert invoke(new.url, *start, cwd=tmp_path).exit_code == 0
