"""Real processes, a real database server and real networks, and what goes wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.chaos.four_workers import two_killed_one_stopped_and_the_server_restarted
from tests.chaos.hosts import one_cut_off_and_one_without_power
from tests.chaos.networks import NotPermitted


@pytest.fixture(scope="module")
def together(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mapping[str, Future[None]]]:
    """What each selected test waits for, by the test's name.

    Both begin at once: each waits for leases to end, in which the processors can do the rest.
    """
    tests: dict[str, Callable[[Path], None]] = {
        test_four_workers_two_killed_one_stopped_and_the_server_restarted.__name__: (
            two_killed_one_stopped_and_the_server_restarted
        ),
        test_three_hosts_one_cut_off_and_one_without_power.__name__: (
            one_cut_off_and_one_without_power
        ),
    }
    selected = {item.name for item in request.session.items}
    with ThreadPoolExecutor(len(tests)) as pool:
        yield {
            name: pool.submit(test, tmp_path_factory.mktemp("chaos"))
            for name, test in tests.items()
            if name in selected
        }


@pytest.mark.slow
def test_four_workers_two_killed_one_stopped_and_the_server_restarted(
    together: Mapping[str, Future[None]], request: pytest.FixtureRequest
) -> None:
    together[request.node.name].result()


@pytest.mark.slow
def test_three_hosts_one_cut_off_and_one_without_power(
    together: Mapping[str, Future[None]], request: pytest.FixtureRequest
) -> None:
    try:
        together[request.node.name].result()
    except NotPermitted as why:
        pytest.skip(f"THREE HOSTS WERE NOT TESTED: {why}")
