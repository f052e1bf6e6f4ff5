"""The embedded server is running or stopped, never unusable."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from failproof_es.problems import InvalidInput
from failproof_es.store.embedded.server import EmbeddedServer
from tests.conftest import fast_folder
from tests.own_server import copy_data


@pytest.fixture
def home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="failproof-es-embedded-", dir=fast_folder()))
    folder.chmod(0o755)
    yield folder
    EmbeddedServer(folder).stop()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def server(home: Path) -> EmbeddedServer:
    """A server that was started once, and is stopped."""
    made = EmbeddedServer(home)
    copy_data(made)
    return made


def answers(url: str) -> bool:
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT 1").fetchone() == (1,)


def processes_of(server: EmbeddedServer) -> list[psutil.Process]:
    pid = server.status().pid
    assert pid is not None
    postmaster = psutil.Process(pid)
    return [postmaster, *postmaster.children(recursive=True)]


def kill_all(server: EmbeddedServer) -> None:
    for process in processes_of(server):
        with contextlib.suppress(psutil.NoSuchProcess):  # gone with its postmaster
            process.kill()


def test_whatever_was_killed_it_starts_again_with_its_data(server: EmbeddedServer) -> None:
    with psycopg.connect(server.ensure_running(), autocommit=True) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS n")
    kill_all(server)
    with psycopg.connect(server.ensure_running(), autocommit=True) as connection:
        assert connection.execute("SELECT n FROM kept").fetchone() == (42,)
        processes_of(server)[0].kill()
        time.sleep(0.1)
        assert answers(server.ensure_running()), "the orphans do not stand in the way"
    kill_all(server)
    pid_file = server.data_dir / "postmaster.pid"
    lines = pid_file.read_text().splitlines()
    pid_file.write_text("\n".join([str(os.getpid()), *lines[1:]]) + "\n")
    assert not server.status().running, "the number belongs to another program"
    url = server.ensure_running()
    with psycopg.connect(url.replace("/failproof?", "/postgres?"), autocommit=True) as connection:
        connection.execute("DROP DATABASE failproof WITH (FORCE)")
    assert answers(EmbeddedServer(server.home).ensure_running()), "killed before it was made"


def test_half_an_initialisation_is_done_again(home: Path) -> None:
    (home / "initialising-x").mkdir()
    (home / "initialising-x" / "PG_VERSION").write_text("18")
    assert answers(EmbeddedServer(home).ensure_running())
    assert not (home / "initialising-x").exists()


def test_two_processes_that_start_it_first_both_get_it(home: Path) -> None:
    script = (
        "import sys; from pathlib import Path; "
        "from failproof_es.store.embedded.server import EmbeddedServer; "
        "print(EmbeddedServer(Path(sys.argv[1])).ensure_running())"
    )
    command = [sys.executable, "-c", script, str(home)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    urls = {process.communicate(timeout=60)[0].strip() for process in both}
    assert [process.returncode for process in both] == [0, 0]
    assert len(urls) == 1 and answers(urls.pop())


_MAKE_ACCOUNTS_AT_ONCE = """
set -e
mount --bind "$1" /etc
mount -t tmpfs none /var/lib
sed -i '/^pgserver:/d' /etc/passwd /etc/shadow /etc/group /etc/gshadow
rm -f /etc/.pwd.lock
for process in 1 2 3 4; do "$2" -c '
import os; from failproof_es.store.embedded.account import account_for
os.write(1, f"{account_for(0).uid}\\n".encode())' & done
wait
id -u pgserver
"""
"""In a namespace of mounts whose `/etc` is a copy: this machine keeps its own users."""


_APART = ("unshare", "--mount", "--propagation", "private")


def _makes_users_apart() -> bool:
    """Whether this process is root, with `useradd`, and may mount."""
    if os.geteuid() != 0 or None in (shutil.which("unshare"), shutil.which("useradd")):
        return False
    return subprocess.run([*_APART, "true"], check=False, capture_output=True).returncode == 0


@pytest.mark.skipif(not _makes_users_apart(), reason="only root makes a system user, and mounts")
def test_processes_that_make_the_system_user_at_once_run_as_one_user(tmp_path: Path) -> None:
    shutil.copytree("/etc", tmp_path / "etc", symlinks=True)
    done = subprocess.run(
        [*_APART, "sh", "-c", _MAKE_ACCOUNTS_AT_ONCE, "sh", tmp_path / "etc", sys.executable],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    users = done.stdout.split()
    assert len(users) == 5 and len(set(users)) == 1, users


def test_one_folder_by_two_names_is_one_server_that_listens_on_no_network_address(
    server: EmbeddedServer, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(server.home)
    url = server.ensure_running()
    assert EmbeddedServer(link).ensure_running() == url
    assert EmbeddedServer(link).status().pid == server.status().pid
    pids = {process.pid for process in processes_of(server)}
    listening = [c for c in psutil.net_connections("inet") if c.pid in pids]
    assert listening == []


def test_a_server_with_a_path_too_long_for_a_socket_is_found_by_who_has_other_temporary_files(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = home / ("a" * 60) / ("b" * 60)
    deep.mkdir(parents=True)
    server = EmbeddedServer(deep)
    copy_data(server)
    try:
        first = server.ensure_running()
        (tmp_path / "other").mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "other"))
        again = EmbeddedServer(deep)
        assert again.ensure_running() == first and answers(first)
        assert again.status().pid == server.status().pid
    finally:
        server.stop()


@pytest.mark.slow
def test_the_data_of_another_version_is_refused_and_left_alone(server: EmbeddedServer) -> None:
    server.ensure_running()
    server.stop()
    version = server.data_dir / "PG_VERSION"
    version.write_text("12\n")
    with pytest.raises(InvalidInput, match=r"PostgreSQL 12.*\[version-mismatch\]"):
        server.ensure_running()
    version.write_text("18\n")
    assert answers(server.ensure_running())


def test_a_folder_that_cannot_be_written_is_named() -> None:
    with pytest.raises(InvalidInput, match="/proc/nowhere"):
        EmbeddedServer(Path("/proc/nowhere")).ensure_running()


def test_a_lock_that_cannot_be_taken_is_named_as_people_write_it(home: Path) -> None:
    (home / ".lock").mkdir(parents=True)
    with pytest.raises(InvalidInput, match=f" {home}/.lock: is a directory "):
        EmbeddedServer(home).ensure_running()
    (home / ".lock").rmdir()


def test_stopping_what_does_not_run_is_no_error(home: Path) -> None:
    assert EmbeddedServer(home).stop() is False
