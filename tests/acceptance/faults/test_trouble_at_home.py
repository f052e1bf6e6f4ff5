"""Trouble of this machine is not the provider's: nothing is abandoned, nothing recorded is lost."""

from __future__ import annotations

import os
import pty
import resource
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from failproof_es.models.providers.local.weights import find as find_weights
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.reading.reader import find
from failproof_es.store.store import Store
from tests.acceptance.commands import (
    PROGRAM,
    asked,
    begin,
    environment,
    hurry,
    kill_group,
    mock_server,
    run,
    write_configuration,
    write_suite,
)
from tests.conftest import as_administrator


def topics(store: Store, *wanted: str) -> dict[str, int]:
    with store.lend() as connection:
        return dict(
            connection.execute(
                "SELECT topic, count(*) FROM failproof.stored_events WHERE topic = ANY (%s) "
                "GROUP BY 1",
                (list(wanted),),
            ).fetchall()
        )


def descriptors(soft: int, hard: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def wait_until(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)


# -- descriptors -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("hard", [64, 100])
@pytest.mark.thinned(whole=1)
def test_too_few_descriptors_pause_the_run_and_use_up_no_attempt(
    store: Store, tmp_path: Path, hard: int
) -> None:
    with mock_server(latency_ms=5_000) as url:
        write_suite(tmp_path, 80)
        write_configuration(
            tmp_path, url,
            execution={"parallel_workers": 80, "retry_attempts": 1, "retry_delay_ms": 10},
        )  # fmt: skip
        done = subprocess.run(
            [*PROGRAM, "start", "run.yaml", "--quiet"],
            env=environment(store.url), cwd=tmp_path, capture_output=True, text=True,
            timeout=120, check=False, preexec_fn=descriptors(hard, hard),
        )  # fmt: skip
        assert done.returncode == 1, done.stderr
        assert "no file descriptor left" in done.stderr
        assert "Traceback" not in done.stderr
        with store.connect() as connection:
            errors = [row.payload() for row in find(connection, topics=["ErrorRecorded"])]
        assert errors
        assert {(e["kind"], e["disposition"]) for e in errors} == {("local_trouble", "halting")}
        hurry(url)
        resumed = run(store.url, "resume", "1", "--quiet", cwd=tmp_path)
        assert resumed.returncode == 0, resumed.stderr
    counts = topics(store, "Scored", "EvaluationAbandoned")
    assert counts == {"Scored": 80}


@pytest.mark.slow
@pytest.mark.wide
def test_a_low_soft_limit_of_descriptors_is_raised(store: Store, tmp_path: Path) -> None:
    with mock_server(latency_ms=200) as url:
        write_suite(tmp_path, 200)
        write_configuration(tmp_path, url, execution={"parallel_workers": 200})
        done = subprocess.run(
            [*PROGRAM, "start", "run.yaml", "--quiet"],
            env=environment(store.url), cwd=tmp_path, capture_output=True, text=True,
            timeout=120, check=False, preexec_fn=descriptors(100, 4096),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert topics(store, "Scored", "ErrorRecorded") == {"Scored": 200}


# -- the database server -----------------------------------------------------------------------


@pytest.fixture
def own_server() -> Iterator[EmbeddedServer]:
    """An embedded server that a test may break."""
    with tempfile.TemporaryDirectory(prefix="failproof-es-broken-") as folder:
        Path(folder).chmod(0o755)
        server = EmbeddedServer(Path(folder))
        server.ensure_running()
        try:
            yield server
        finally:
            server.stop()


@pytest.mark.slow
def test_an_embedded_server_that_cannot_be_started_again_is_waited_for(
    own_server: EmbeddedServer, tmp_path: Path
) -> None:
    with mock_server(latency_ms=50) as url:
        write_suite(tmp_path, 40)
        write_configuration(tmp_path, url, execution={"parallel_workers": 2})
        more = {"FAILPROOF_ES_HOME": str(own_server.home)}
        process = begin("", "start", "run.yaml", "--quiet", cwd=tmp_path, **more)
        try:
            wait_until(lambda: sum(asked(url).values()) >= 10)
            conf = own_server.data_dir / "postgresql.conf"
            good = conf.read_bytes()
            conf.write_bytes(b"no server starts with = this\n")
            pid = own_server.status().pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            time.sleep(4)
            assert process.poll() is None, "the run waits for its server"
            conf.write_bytes(good)
            _, said = process.communicate(timeout=90)
        finally:
            kill_group(process)
        assert process.returncode == 0, said.decode()
    with psycopg.connect(own_server.ensure_running()) as connection:
        row = connection.execute(
            "SELECT count(*) FROM failproof.stored_events WHERE topic = 'Scored'"
        ).fetchone()
    assert row == (40,)


@pytest.mark.slow
def test_a_standby_that_takes_no_writes_is_waited_for(store: Store, tmp_path: Path) -> None:
    """SQLSTATE 25006, as from a server that was demoted: until one takes writes again."""
    name = psycopg.conninfo.conninfo_to_dict(store.url)["dbname"]
    statement = sql.SQL("ALTER DATABASE {} {} default_transaction_read_only {}")

    def read_only(on: bool) -> None:
        with psycopg.connect(as_administrator(store.url), autocommit=True) as connection:
            connection.execute("SET default_transaction_read_only = off")
            how = (sql.SQL("SET"), sql.SQL("= on")) if on else (sql.SQL("RESET"), sql.SQL(""))
            connection.execute(statement.format(sql.Identifier(str(name)), *how))
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = %s AND pid <> pg_backend_pid()",
                (name,),
            )

    with mock_server(latency_ms=50) as url:
        write_suite(tmp_path, 40)
        write_configuration(tmp_path, url, execution={"parallel_workers": 2})
        process = begin(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path)
        try:
            wait_until(lambda: sum(asked(url).values()) >= 10)
            read_only(True)
            time.sleep(3)
            assert process.poll() is None, "the run waits for a server that takes writes"
            before = sum(asked(url).values())
            time.sleep(1)
            assert sum(asked(url).values()) == before, "what cannot be recorded is not sent"
            read_only(False)
            _, said = process.communicate(timeout=90)
        finally:
            kill_group(process)
        assert process.returncode == 0, said.decode()
    assert topics(store, "Scored") == {"Scored": 40}


# -- terminals and pipes -----------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.wide
def test_a_closed_pipe_for_errors_does_not_fail_a_completed_run(
    store: Store, tmp_path: Path
) -> None:
    with mock_server(latency_ms=50) as url:
        write_suite(tmp_path, 40)
        write_configuration(tmp_path, url, execution={"parallel_workers": 4})
        reading, writing = os.pipe()
        with subprocess.Popen(
            [*PROGRAM, "start", "run.yaml"],
            env=environment(store.url), cwd=tmp_path, stdout=subprocess.PIPE, stderr=writing,
        ) as process:  # fmt: skip
            os.close(writing)
            os.close(reading)
            out, _ = process.communicate(timeout=90)
        assert process.returncode == 0
        assert b"run 1 acceptance: completed" in out
    assert topics(store, "RunSealed") == {"RunSealed": 1}


@pytest.mark.slow
@pytest.mark.parametrize("how", [(), ("--json",)])
@pytest.mark.thinned(whole=1)
def test_a_reader_that_went_away_does_not_fail_a_completed_run(
    store: Store, tmp_path: Path, how: tuple[str, ...]
) -> None:
    with mock_server(latency_ms=20) as url:
        write_suite(tmp_path, 10)
        write_configuration(tmp_path, url)
        with subprocess.Popen(
            [*PROGRAM, "start", "run.yaml", *how],
            env=environment(store.url), cwd=tmp_path,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.close()
            said = process.stderr.read()
            process.wait(timeout=90)
        assert process.returncode == 0, said.decode()
    assert topics(store, "RunSealed") == {"RunSealed": 1}


def in_a_terminal(store: Store, folder: Path, *before: str) -> tuple[subprocess.Popen[bytes], int]:
    """Start the run with a terminal of its own as its three streams."""
    main, secondary = pty.openpty()
    process = subprocess.Popen(
        [*before, *PROGRAM, "start", "run.yaml"],
        env=environment(store.url, TERM="xterm"), cwd=folder,
        stdin=secondary, stdout=secondary, stderr=secondary, start_new_session=True,
    )  # fmt: skip
    os.close(secondary)
    return process, main


@pytest.mark.slow
@pytest.mark.wide
def test_a_lost_terminal_does_not_fail_a_run_that_goes_on(store: Store, tmp_path: Path) -> None:
    """Nobody sends SIGHUP (`disown`, `setsid`); every write to the terminal fails."""
    with mock_server(latency_ms=50) as url:
        write_suite(tmp_path, 60)
        write_configuration(tmp_path, url, execution={"parallel_workers": 2})
        process, terminal = in_a_terminal(store, tmp_path)
        wait_until(lambda: sum(asked(url).values()) >= 5)
        os.close(terminal)
        assert process.wait(timeout=90) == 0
    assert topics(store, "RunSealed", "Scored") == {"RunSealed": 1, "Scored": 60}


@pytest.mark.slow
@pytest.mark.wide
def test_a_hangup_that_is_ignored_is_ignored(store: Store, tmp_path: Path) -> None:
    with mock_server(latency_ms=20) as url:
        write_suite(tmp_path, 60)
        write_configuration(tmp_path, url, execution={"parallel_workers": 2})
        with subprocess.Popen(
            [*PROGRAM, "start", "run.yaml", "--quiet"],
            env=environment(store.url), cwd=tmp_path,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
        ) as process:  # fmt: skip
            wait_until(lambda: sum(asked(url).values()) >= 5)
            process.send_signal(signal.SIGHUP)
            _, said = process.communicate(timeout=60)
        assert process.returncode == 0, said.decode()


# -- models that cannot be started -------------------------------------------------------------


@pytest.mark.slow
def test_a_model_that_cannot_be_started_leaves_no_run_behind(store: Store, tmp_path: Path) -> None:
    """It passes its check (the file is there) and then cannot be opened."""
    weights = tmp_path / "model.gguf"
    write_suite(tmp_path, 3)
    write_configuration(
        tmp_path, "", models=[{"provider": "local", "model": str(weights), "max_tokens": 4}],
        execution={"parallel_workers": 1, "timeout_per_request_ms": 60_000},
        gates={"max_unscored_rate": 1.0},
    )  # fmt: skip
    weights.write_bytes(b"GGUF and then nothing that could be loaded")
    refused = run(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path)
    assert refused.returncode == 2, refused.stderr
    assert "model.gguf" in refused.stderr
    assert "no run exists yet" in run(store.url, "show", "latest", cwd=tmp_path).stderr
    assert topics(store, "RunStarted", "ValidationFailed") == {"ValidationFailed": 1}

    weights.unlink()
    weights.symlink_to(find_weights("smollm2"))
    process = begin(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path)
    wait_until(lambda: bool(topics(store, "ResponseReceived")))
    kill_group(process)
    weights.unlink()
    weights.write_bytes(b"GGUF and then nothing that could be loaded")
    refused = run(store.url, "resume", "1", "--quiet", cwd=tmp_path)
    assert refused.returncode == 2, refused.stderr
    assert topics(store, "RunResumed") == {}, "it is as it was"
    weights.unlink()
    weights.symlink_to(find_weights("smollm2"))
    resumed = run(store.url, "resume", "1", "--quiet", cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    ended = topics(store, "Scored", "EvaluationAbandoned", "RunSealed")
    assert ended == {"EvaluationAbandoned": 3, "RunSealed": 1}, "four tokens are cut off"
