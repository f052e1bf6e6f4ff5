"""A process beside the program ends with its input, or is killed, and leaves nothing behind."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from failproof_es.support.machine.sidecar import Sidecar

ECHOING = "import sys\nsys.stdout.write(sys.stdin.readline())\nsys.stdin.read()\nsys.exit(3)\n"
STUCK = "import time\nprint('up', flush=True)\ntime.sleep(600)\n"
GONE = "raise SystemExit(4)\n"


@pytest.fixture(autouse=True)
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, source in (("echoing", ECHOING), ("stuck", STUCK), ("gone", GONE)):
        (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


def test_it_reads_its_task_and_ends_with_its_input() -> None:
    sidecar = Sidecar("echoing", b"the task\n", answers=True)
    assert not sidecar.has_ended
    assert sidecar.stop(60) == 3
    with sidecar.output as output:
        assert output.read() == b"the task\n"


def test_one_that_does_not_end_is_killed_in_time() -> None:
    sidecar = Sidecar("stuck", b"", answers=True)
    assert sidecar.output.readline() == b"up\n"
    began = time.monotonic()
    assert sidecar.stop(0.2) is None
    assert time.monotonic() - began < 30
    assert sidecar.has_ended
    sidecar.output.close()


@pytest.mark.parametrize("size", [0, 1, 2**16, 2**16 + 1, 2**19])
def test_one_that_ended_before_it_read_its_task_says_so_when_it_is_waited_for(size: int) -> None:
    sidecar = Sidecar("gone", b"x" * size)
    assert sidecar.wait() == 4
    with pytest.raises(OSError, match="Broken pipe"):
        sidecar.send(b"x" * (size + 1))
    assert sidecar.stop(60) == 4


def test_killing_it_twice_is_killing_it_once() -> None:
    sidecar = Sidecar("stuck", b"", answers=True)
    sidecar.kill()
    sidecar.kill()
    assert sidecar.wait() == -9
