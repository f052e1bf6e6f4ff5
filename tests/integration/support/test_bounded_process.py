"""Children that call a function on untrusted input: each limit, tried by exceeding it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator

import psutil
import pytest

from failproof_es.support.bounded.messages import LimitExceeded, in_bounded_process
from failproof_es.support.bounded.process import BoundedPool
from failproof_es.support.bounded.running_child import ChildEnded, Limits

LIMITS = Limits(cpu_s=0.5, wait_s=10.0, memory_bytes=2**30)


def behave(argument: str) -> str:
    """What a child of these tests does."""
    match argument:
        case "compute":
            while True:
                pass
        case "doze":
            time.sleep(1)
        case "wait":
            time.sleep(600)
        case "fill":
            return str(len(bytearray(2**32)))
        case "exit":
            os._exit(3)
        case "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "print":
            print("no answer")
        case "raise":
            raise ValueError("of the function")
        case "compute a little":
            began = time.process_time()
            while time.process_time() - began < 0.05:
                pass
            return str(os.getpid())
        case "where":
            return f"{os.getpid()} {in_bounded_process()}"
    return f"did {argument}"


def refuse(context: str) -> None:
    raise ValueError(f"{context} is not installed")


@pytest.fixture
def pool() -> Iterator[BoundedPool]:
    pool = BoundedPool(behave, LIMITS)
    yield pool
    pool.close()


@pytest.mark.parametrize(
    ("argument", "in_threads", "reason"),
    [
        ("compute", False, "it needed more than 0.5 s of processor time"),
        ("compute", True, "it needed more than 0.5 s of processor time"),
        ("fill", False, "it needed more memory than it may use"),
        ("crash", False, "its process was ended by signal 11, twice"),
        ("crash", True, "its process was ended by signal 11, twice"),
    ],
)
def test_a_call_that_exceeds_a_limit_is_stopped_alone(
    argument: str, in_threads: bool, reason: str
) -> None:
    pool = BoundedPool(behave, LIMITS, in_threads=in_threads)
    before = [pool.submit(f"before {n}") for n in range(3)]
    stopped = pool.submit(argument)
    after = [pool.submit(f"after {n}") for n in range(3)]
    with pytest.raises(LimitExceeded, match=reason):
        stopped.result(60)
    assert [future.result(60) for future in before] == [f"did before {n}" for n in range(3)]
    assert [future.result(60) for future in after] == [f"did after {n}" for n in range(3)]
    pool.close()


def test_a_child_that_ends_by_itself_says_nothing_about_its_call(pool: BoundedPool) -> None:
    with pytest.raises(ChildEnded, match="exit code 3"):
        pool.call("exit")
    assert not pool.has_ready_child(), "more calls wait for the next child, as for the first"
    assert pool.call("on") == "did on"
    assert pool.has_ready_child()


def test_a_child_that_somebody_kills_is_replaced_and_its_call_made_again(
    pool: BoundedPool,
) -> None:
    child = psutil.Process(int(pool.call("where").split()[0]))
    child.terminate()
    assert int(pool.call("where").split()[0]) == child.pid, "it ends with its program"
    waiting = pool.submit("doze")
    while child.status() == psutil.STATUS_RUNNING:
        time.sleep(0.01)
    child.kill()
    assert waiting.result(60) == "did doze"


def test_a_child_that_cannot_be_prepared_says_why() -> None:
    pool = BoundedPool(behave, LIMITS, context=("x",), prepare=refuse)
    with pytest.raises(ValueError, match="x is not installed"):
        pool.call("on")
    pool.close()


def test_a_call_that_waits_without_end_is_stopped() -> None:
    pool = BoundedPool(behave, Limits(cpu_s=0.5, wait_s=1.0, memory_bytes=2**30))
    with pytest.raises(LimitExceeded, match="it waited for 1 s"):
        pool.call("wait")
    assert pool.call("on") == "did on"
    pool.close()


def test_a_child_that_somebody_pauses_is_not_taken_for_one_that_waits() -> None:
    # on a busy machine a child needs most of a second to start, and that counts as waiting
    pool = BoundedPool(behave, Limits(cpu_s=0.5, wait_s=2, memory_bytes=2**30))
    child = psutil.Process(int(pool.call("where").split()[0]))
    child.suspend()
    paused = pool.submit("on")
    time.sleep(3)
    assert not paused.done()
    child.resume()
    assert paused.result(60) == "did on"
    pool.close()


def test_what_the_function_raises_is_raised_and_what_it_prints_is_no_answer(
    pool: BoundedPool,
) -> None:
    with pytest.raises(ValueError, match="of the function"):
        pool.call("raise")
    assert pool.call("print") == "did print"


def test_it_is_a_process_of_its_own_that_ends_with_the_pool(pool: BoundedPool) -> None:
    pid, bounded = pool.call("where").split()
    assert int(pid) != os.getpid() and bounded == "True"
    child = psutil.Process(int(pid))
    pool.close()
    child.wait(30)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_calls_children_of_its_own(pool: BoundedPool) -> None:
    own = pool.call("where")
    forked = os.fork()
    if not forked:
        with contextlib.suppress(BaseException):
            os._exit(0 if pool.submit("where").result(10) != own else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1]) == 0
    assert pool.call("where") == own


def test_a_child_in_the_middle_of_a_call_ends_with_a_killed_parent() -> None:
    program = (
        "from tests.integration.support.test_bounded_process import *\n"
        "pool = BoundedPool(behave, Limits(60, 600, 2**30))\n"
        "print(pool.call('where').split()[0], flush=True)\n"
        "pool.call('wait')\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    with parent.stdout as output:
        child = psutil.Process(int(output.readline()))
    parent.kill()
    parent.wait()
    child.wait(30)


def test_many_calls_have_their_own_results() -> None:
    pool = BoundedPool(behave, LIMITS, processes=2)
    futures = [pool.submit(str(n)) for n in range(500)]
    assert [future.result(60) for future in futures] == [f"did {n}" for n in range(500)]
    pool.close()


@pytest.mark.parametrize(("argument", "children"), [("where", 1), ("compute a little", 2)])
def test_a_second_child_starts_only_when_calls_wait_for_the_first(
    argument: str, children: int
) -> None:
    """One for short calls; two for 40 calls of 2 s in all, each with its share."""
    pool = BoundedPool(behave, LIMITS, processes=2)
    futures = [pool.submit(argument) for _ in range(40)]
    callers = Counter(future.result(60).split()[0] for future in futures)
    pool.close()
    assert len(callers) == children
    assert min(callers.values()) >= 40 // 5
