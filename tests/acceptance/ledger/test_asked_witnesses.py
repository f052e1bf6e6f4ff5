"""`ledger checkpoint --policy` asks witnesses over HTTP, and `evidence` proves their quorum."""

from __future__ import annotations

import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from failproof_es.ledger.note import COSIGNATURE, SigningKey
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


@pytest.fixture
def hostile() -> Iterator[tuple[str, SigningKey, list[str]]]:
    """A witness that answers as the list says."""
    key, answers = SigningKey.generate("hostile.example", COSIGNATURE), list[str]()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            text = body.partition("\n\n")[2].partition("\n\n")[0] + "\n"
            status, _, template = answers[0].partition(" ")
            lines = template.format(
                good=f"{key.sign(text, at=7)}\n",
                many="".join(f"{key.sign(text, at=at)}\n" for at in range(1, 100)),
                longer=f"x\n\n{key.sign(text + chr(10) + 'x' + chr(10), at=7)}\n",
            )
            self.send_response(int(status))
            self.end_headers()
            self.wfile.write(lines.encode())

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", key, answers
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.slow
def test_one_hostile_witness_spoils_nothing_of_the_others(
    store: Store, mock_url: str, tmp_path: Path, hostile: tuple[str, SigningKey, list[str]]
) -> None:
    url, key, answers = hostile

    def do(*arguments: object, code: int = 0) -> str:
        done = invoke(store.url, *arguments, cwd=tmp_path)
        assert done.exit_code == code, (arguments, done.output)
        return done.output

    write_suite(tmp_path, 1)
    write_configuration(tmp_path, mock_url)
    do("start", "run.yaml", "--quiet")
    do("ledger", "key", "-o", "log.pub")
    log = (tmp_path / "log.pub").read_text().strip()
    with witness(tmp_path, store.url, "good") as (good_url, good):
        lines = [
            f"log {log}", f"witness bad {key.public} {url}",
            f"witness good {good.strip()} {good_url}", "quorum good",
        ]  # fmt: skip
        (tmp_path / "one.policy").write_text("\n".join(lines))
        for answer, says in (
            ("200 {good}", ""),
            ("200 {many}", ""),
            ("200 {longer}", "answers with another text"),
            ("409 999999999\n", "it says that it cosigned 999,999,999 events"),
            ("409 x\n", "does not say how many"),
            ("200 ", "no cosignature"),
            ("500 \x1b[31mno", "HTTP 500"),
        ):
            answers[:] = [answer]
            said = do("ledger", "checkpoint", "--policy", "one.policy")
            assert says in said and "\n— good " in said and "\x1b" not in said, answer
            size = said[said.index("failproof-es/") :].splitlines()[1]
            do("evidence", "export", "1", "--checkpoint", size, "-o", "made")
            do("evidence", "verify", "made", "--policy", "one.policy")
    do("verify")
