"""Keys, kept checkpoints and cosignatures when something goes wrong: by the command line."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import click.testing
import orjson
import pytest

from failproof_es.ledger import bundle
from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.ledger.note import COSIGNATURE, SigningKey
from failproof_es.store import ledger
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, write_configuration, write_suite
from tests.acceptance.recording import Recording, recorded_once
from tests.conftest import as_administrator

Does = Callable[..., click.testing.Result]
DB_INIT = ("db", "init")
MADE = "made the key that signs this log"


@pytest.fixture(scope="module")
def recording(
    postgres_server: EmbeddedServer,
    migrated_database: str,
    mock_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Recording:
    """A signed log with one run."""

    def record(url: str, folder: Path) -> None:
        write_suite(folder, 1)
        write_configuration(folder, mock_url)
        done = invoke(url, "start", "run.yaml", cwd=folder)
        assert done.exit_code == 0, done.output

    return recorded_once(postgres_server, migrated_database, tmp_path_factory, record)


@pytest.fixture
def template(request: pytest.FixtureRequest, migrated_database: str) -> str:
    if "run" not in request.fixturenames:
        return migrated_database
    recording: Recording = request.getfixturevalue("recording")
    return recording.database


@pytest.fixture
def run(recording: Recording, home: Path, tmp_path: Path) -> None:
    """The log of `store` is the one of `recording`."""
    recording.copy_files(home, tmp_path)


@pytest.fixture
def does(store: Store, mock_url: str, tmp_path: Path) -> Does:
    """Carries a command out in a folder with a suite and a configuration."""
    write_suite(tmp_path, 1)
    write_configuration(tmp_path, mock_url)

    def do(*arguments: object, code: int = 0, **more: str) -> click.testing.Result:
        url = as_administrator(store.url) if arguments == DB_INIT else store.url
        done = invoke(url, *arguments, cwd=tmp_path, **more)
        assert done.exit_code == code, (arguments, done.output)
        return done

    return do


@pytest.fixture
def keys(store: Store, home: Path) -> Path:
    """The path of the log's key, without `.key`: everything that is kept of it begins so."""
    with store.connect() as connection:
        name = ledger.origin(connection).rpartition("/")[2]
    folder = home / "ledger"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder / name


@pytest.fixture
def full_disk() -> Iterator[Path]:
    """A small file system on which there is no room."""
    folder = Path(tempfile.mkdtemp(prefix="failproof-es-full-disk-"))
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        folder.rmdir()
        pytest.skip("a small disk cannot be mounted here")
    try:
        (folder / "made-before").mkdir()
        with (folder / "ballast").open("wb", buffering=0) as file, pytest.raises(OSError):
            while True:
                file.write(b"\0" * 4096)
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
        folder.rmdir()


def public_key(does: Does) -> str:
    """The log's, as it is handed on."""
    return str(orjson.loads(does("ledger", "key", "--json").stdout)["public_key"])


# -- the log's key -----------------------------------------------------------------------------


def test_an_unusable_or_empty_key_is_told_by_start_and_an_empty_one_made_anew_by_db_init_alone(
    does: Does, keys: Path
) -> None:
    """Half a key, and a file with nothing in it: an interrupted copy, a power cut."""
    key = keys.with_name(f"{keys.name}.key")
    key.write_text("PRIVATE+KEY+half")
    key.chmod(0o600)
    said = does("start", "run.yaml").stderr
    assert "warning: the log could not be signed" in said
    assert str(key) in said and "[signing-key-unusable]" in said
    key.write_bytes(b"")
    keys.with_name(f"{keys.name}.key.pub").write_bytes(b"")
    warned = does("start", "run.yaml").stderr
    assert "warning: the log could not be signed: there is no key" in warned
    assert f"in {key}, and nobody has signed it yet" in warned and "db init" in warned
    assert key.read_bytes() == b""
    assert MADE in does(*DB_INIT).stderr
    assert "could not be signed" not in does("start", "run.yaml").stderr
    said = does("verify").stdout
    assert "genuine" in said and "signed: 0" not in said


def test_a_disk_that_is_full_leaves_no_key_behind(does: Does, full_disk: Path) -> None:
    key = full_disk / "made-before" / "log.key"
    given = {"FAILPROOF_ES_LEDGER_KEY": str(key)}
    assert "no space left on device" in does(*DB_INIT, code=2, **given).stderr
    assert not key.exists()
    warned = does("start", "run.yaml", **given)
    assert "warning: the log could not be signed: there is no key" in warned.stderr
    assert str(key) in warned.stderr
    (full_disk / "ballast").unlink()
    assert MADE in does(*DB_INIT, **given).stderr
    does("ledger", "checkpoint", **given)
    assert "signed: 0" not in does("verify", **given).stdout


@pytest.mark.usefixtures("run")
def test_an_empty_key_of_a_log_that_is_signed_is_never_made_anew(does: Does, keys: Path) -> None:
    key = keys.with_name(f"{keys.name}.key")
    key.write_bytes(b"")
    assert "is signed with a key that is not in" in does("start", "run.yaml").stderr
    does("ledger", "key", code=2)
    assert MADE not in does(*DB_INIT).stderr
    assert key.read_bytes() == b""


@pytest.mark.usefixtures("run")
def test_a_public_key_that_is_missing_is_no_hindrance(does: Does, keys: Path) -> None:
    keys.with_name(f"{keys.name}.key.pub").unlink()
    done = does("verify")
    assert "no public key" not in done.output
    assert "genuine" in done.stdout


@pytest.mark.usefixtures("run")
def test_verify_needs_no_folder_that_can_be_written(
    does: Does, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("failproof_es.assurance.signing.verified_positions.atomic_write", read_only)
    done = does("verify")
    assert "genuine" in done.stdout
    assert "the next --incremental verification begins where the last one did" in done.stderr


def read_only(path: Path, *_: object) -> None:
    raise OSError(30, os.strerror(30), str(path))


# -- what is kept ------------------------------------------------------------------------------


@pytest.mark.usefixtures("run")
def test_a_pipe_in_the_place_of_a_file_of_ours_is_told_and_not_waited_for(
    does: Does, keys: Path
) -> None:
    for suffix, command, code in (
        ("key.pub", "verify", 2),
        ("checkpoint", "verify", 2),
        ("checkpoint", "ledger watch", 2),
        ("verified", "verify --incremental", 2),
        ("key", "ledger checkpoint", 2),
        ("checkpoint", "start run.yaml", 0),
        ("key", "start run.yaml", 0),
    ):
        kept = keys.with_name(f"{keys.name}.{suffix}")
        before = kept.read_bytes() if kept.exists() else None
        kept.unlink(missing_ok=True)
        os.mkfifo(kept, 0o600)
        with not_waiting(kept):
            told = does(*command.split(), code=code).stderr
        assert "not a regular file" in told, (suffix, command)
        kept.unlink()
        if before is not None:
            kept.touch(0o600)
            kept.write_bytes(before)


@contextlib.contextmanager
def not_waiting(pipe: Path) -> Iterator[None]:
    """Opens the other end of a pipe after a while, so that who waits fails and does not hang."""
    timer = threading.Timer(20.0, lambda: os.close(os.open(pipe, os.O_RDWR | os.O_NONBLOCK)))
    timer.start()
    yield
    timer.cancel()


@pytest.mark.usefixtures("run")
def test_pipes_and_devices_that_a_user_names_are_wrong_usage(does: Does, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    key = public_key(does)
    cosign = ("--key", "w.key", "--name", "w", "--log-key", key, "--seen", "seen")
    for command in (
        ("verify", "--key", pipe),
        ("verify", "--checkpoint", pipe),
        ("ledger", "watch", pipe),
        ("ledger", "cosign", pipe, *cosign),
        ("ledger", "cosign", "/dev/zero", *cosign),
        ("ledger", "checkpoint", "--add", pipe),
        ("ledger", "checkpoint", "-o", pipe),
        ("evidence", "verify", pipe, "--key", key),
        ("evidence", "export", "1", "-o", pipe),
        ("review", "import", "1", pipe),
    ):
        with not_waiting(pipe):
            assert "not a regular file" in does(*command, code=2).stderr, command
    assert pipe.is_fifo()


@pytest.mark.usefixtures("run")
def test_a_file_larger_than_any_of_ours_is_wrong_usage_and_is_not_read(
    does: Does, tmp_path: Path
) -> None:
    """A sparse one takes no disk."""
    sparse = tmp_path / "sparse"
    key = public_key(does)
    for command, most in (
        (("evidence", "verify", sparse, "--key", key), bundle.MOST_BYTES),
        (("review", "import", "1", sparse), 1 << 28),
        (("ledger", "cosign", sparse, *("--key", "w.key", "--name", "w"),
          *("--log-key", key, "--seen", "seen")), 1 << 26),
    ):  # fmt: skip
        sparse.touch()
        os.truncate(sparse, most + 1)
        tracemalloc.start()
        assert "larger than" in does(*command, code=2).stderr, command
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 1 << 26
    os.truncate(sparse, 0)
    assert "cut short" in does("evidence", "verify", sparse, "--key", key, code=1).stdout
    os.truncate(sparse, bundle.MOST_BYTES + 1)
    script = Path(__file__).parents[3] / "docs" / "reference" / "verify_evidence.py"
    alone = [sys.executable, str(script), str(sparse), "--key", str(key)]
    done = subprocess.run(alone, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "more than 1,073,741,824" in done.stderr


# -- witnesses ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("run")
def test_what_could_not_be_written_is_cosigned_again(
    does: Does, full_disk: Path, tmp_path: Path
) -> None:
    """What was cosigned is remembered before anybody can have it, and can be printed again."""
    cosign = ("--key", "w.key", "--log-key", public_key(does), "--seen", "seen")
    size = does("ledger", "checkpoint", "-o", "first").stdout.splitlines()[1]
    does("ledger", "cosign", "first", *cosign, "--name", "w")
    does("start", "run.yaml")
    does("ledger", "checkpoint", "--since", size, "-o", "later")
    full = full_disk / "cosigned"
    failed = does("ledger", "cosign", "later", *cosign, "-o", full, code=2)
    assert "no space left on device" in failed.stderr
    assert (tmp_path / "seen").read_text() in (tmp_path / "later").read_text()
    unseen = ("--key", "w.key", "--log-key", public_key(does), "--seen", full_disk / "seen")
    assert does("ledger", "cosign", "first", *unseen, code=2).stdout == ""
    once = does("ledger", "cosign", "later", *cosign, "-o", "cosigned").stdout
    again = does("ledger", "cosign", "later", *cosign).stdout
    assert once.splitlines()[:5] == again.splitlines()[:5]
    does("ledger", "checkpoint", "--add", "cosigned")


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize("option", [("--name", "other"), ("--algorithm", "ml-dsa-44")])
def test_a_key_that_exists_is_not_taken_for_another(does: Does, option: tuple[str, str]) -> None:
    cosign = ("--key", "w.key", "--log-key", public_key(does), "--seen", "seen")
    does("ledger", "checkpoint", "-o", "first")
    does("ledger", "cosign", "first", *cosign, "--name", "w", "--algorithm", "ed25519")
    does("ledger", "cosign", "first", *cosign, "--name", "w", "--algorithm", "ed25519")
    assert "another-key" in does("ledger", "cosign", "first", *cosign, *option, code=2).stderr


@pytest.mark.usefixtures("run")
def test_a_cosigned_checkpoint_that_is_not_of_the_tree_is_not_added(
    does: Does, keys: Path, store: Store, tmp_path: Path
) -> None:
    key = SigningKey.parse(keys.with_name(f"{keys.name}.key").read_text())
    stored = does("ledger", "checkpoint").stdout
    size = int(stored.splitlines()[1])
    witness = SigningKey.generate("w", COSIGNATURE)
    for forged, says in (
        (Checkpoint(key.name, size, bytes(32)), "are not those of"),
        (Checkpoint(key.name, size - 1, bytes(32)), "are not those of"),
        (Checkpoint(key.name, size + 1, bytes(32)), "the tail was cut"),
    ):
        note = forged.signed(key)
        cosigned = note.signed(witness.sign(note.text, at=1))
        (tmp_path / "forged").write_text(str(cosigned), "utf-8")
        assert says in does("ledger", "checkpoint", "--add", "forged", code=1).stderr
    with store.connect() as connection:
        assert [each.note for each in ledger.checkpoints(connection)][-1] == stored


@pytest.mark.usefixtures("run")
def test_a_run_is_exported_under_the_checkpoint_that_was_cosigned(
    does: Does, tmp_path: Path
) -> None:
    """Whatever was recorded and signed since: another attempt, a review."""
    key = public_key(does)
    size = int(does("ledger", "checkpoint", "-o", "checkpoint").stdout.splitlines()[1])
    cosign = ("--key", "w.key", "--name", "w.example", "--log-key", key, "--seen", "seen")
    does("ledger", "cosign", "checkpoint", *cosign, "-o", "cosigned")
    added = does("ledger", "checkpoint", "--add", "cosigned")
    assert added.stdout == (tmp_path / "cosigned").read_text("utf-8")
    does("start", "run.yaml")
    verify = ("evidence", "verify", "run.evidence", "--key", key, "--cosigner", "w.key.pub")
    does("evidence", "export", "1", "-o", "run.evidence")
    assert "not signed by w.example" in does(*verify, code=1).stdout
    does("evidence", "export", "1", "-o", "run.evidence", "--checkpoint", size)
    said = does(*verify, "--replay").stdout
    assert "cosigned by w.example" in said
    assert "attempt 1 of 1" in said and f"of {size} events" in said
    refused = does("evidence", "export", "2", "-o", "2.evidence", "--checkpoint", size, code=3)
    assert f"behind the checkpoint of {size} events" in refused.stderr
    refused = does("evidence", "export", "1", "-o", "2.evidence", "--checkpoint", 1, code=2)
    assert "[no-checkpoint]" in refused.stderr
    assert not (tmp_path / "2.evidence").exists()


@pytest.mark.usefixtures("run")
def test_a_key_of_the_wrong_kind_is_wrong_usage(does: Does, keys: Path, tmp_path: Path) -> None:
    log_key = f"{keys}.key"
    log_public = f"{log_key}.pub"
    does("ledger", "checkpoint", "-o", "checkpoint")
    does("evidence", "export", "1", "-o", "run.evidence")
    cosign = ("ledger", "cosign", "checkpoint", "--name", "w", "--seen", "seen")
    does(*cosign, "--key", "w.key", "--log-key", log_public)
    for command in (
        (*cosign, "--key", log_key, "--log-key", log_public),
        (*cosign, "--key", "w.key", "--log-key", "w.key.pub"),
        ("ledger", "watch", "--log-key", "w.key.pub"),
        ("verify", "--key", "w.key.pub"),
        ("evidence", "verify", "run.evidence", "--key", "w.key.pub"),
        ("evidence", "verify", "run.evidence", "--key", log_public, "--cosigner", log_public),
    ):
        assert "is wanted here" in does(*command, code=2).stderr, command
    named = {"FAILPROOF_ES_LEDGER_KEY": str(tmp_path / "w.key")}
    assert "is wanted here" in does("ledger", "checkpoint", code=2, **named).stderr
