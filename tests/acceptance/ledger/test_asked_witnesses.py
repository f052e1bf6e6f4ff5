"""`ledger checkpoint --policy` asks witnesses over HTTP, and `evidence` proves their quorum."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from failproof_es.store.store import Store
from tests.acceptance.commands import PROGRAM, environment, invoke, write_configuration, write_suite
from tests.acceptance.console.test_command import free_port


@contextmanager
def witness(folder: Path, url: str, name: str, *options: str) -> Iterator[tuple[str, str]]:
    """The address and the public key of a witness of this name in a process of its own."""
    port = free_port()
    command = [
        *PROGRAM, "ledger", "witness", "serve", "--key", f"{name}.key", "--name", name,
        "--log-key", "log.pub", "--folder", f"{name}.seen", "--port", str(port), *options,
    ]  # fmt: skip
    process = subprocess.Popen(
        command, cwd=folder, env=environment(url), stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    try:
        while (line := process.stderr.readline()) and "add-checkpoint" not in line:
            pass
        found = re.search(r"http://\S+/add-checkpoint", line)
        assert found is not None, line
        yield found[0].removesuffix("/add-checkpoint"), (folder / f"{name}.key.pub").read_text()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)
        process.stderr.close()


@pytest.mark.slow
def test_witnesses_cosign_and_their_quorum_is_proven(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    def do(*arguments: object, code: int = 0) -> str:
        done = invoke(store.url, *arguments, cwd=tmp_path)
        assert done.exit_code == code, (arguments, done.output)
        return done.output

    write_suite(tmp_path, 2)
    write_configuration(tmp_path, mock_url)
    do("start", "run.yaml", "--quiet")
    do("ledger", "key", "-o", "log.pub")
    log = (tmp_path / "log.pub").read_text().strip()
    with (
        witness(tmp_path, store.url, "one") as (first, one),
        witness(tmp_path, store.url, "two", "--algorithm", "ml-dsa-44") as (second, two),
    ):
        lines = [
            f"log {log}", f"witness one {one.strip()} {first}/",
            f"witness two {two.strip()} {second}", "group both all one two", "quorum both",
        ]  # fmt: skip
        (tmp_path / "both.policy").write_text("\n".join(lines))
        for _ in range(2):  # the second time they saw the first
            cosigned = do("ledger", "checkpoint", "--policy", "both.policy")
            assert "\n— one " in cosigned and "\n— two " in cosigned
            do("start", "run.yaml", "--quiet")
        size = cosigned.splitlines()[1]
        do("evidence", "export", "1", "--checkpoint", size, "-o", "run.evidence")
        said = do("evidence", "verify", "run.evidence", "--policy", "both.policy")
        assert "cosigned by one at " in said and "cosigned by two at " in said
    said = do("ledger", "checkpoint", "--policy", "both.policy", code=3)
    assert "'one' did not cosign: no answer" in said and "the policy is not satisfied" in said
    lines[-1] = "quorum none"
    (tmp_path / "none.policy").write_text("\n".join(lines))
    assert "did not cosign" in do("ledger", "checkpoint", "--policy", "none.policy")
