"""The tables of a profile name functions by package, and no path of a machine."""

from __future__ import annotations

import cProfile
import pstats

from tests.benchmarks.profile_run import calls_table, holders_tables, place

STACKS = """\
thread (0x7F): MainThread;<module> (/x/.venv/bin/f:3);encode (/w/failproof_es/store/mapper.py:12) 6
thread (0x7F): MainThread;<module> (/x/.venv/bin/f:3);encode (/w/failproof_es/store/mapper.py:19) 2
thread (0x8A): ledger;run (/usr/lib/python3.11/threading.py:975) 2
a name with a line break
"""


def test_functions_are_named_by_package() -> None:
    assert [
        place("/w/.venv/lib/python3.11/site-packages/httpx/_client.py", 5, "send"),
        place("/usr/lib/python3.11/asyncio/events.py", 80, "_run"),
        place("/w/tree/failproof_es/engine/driver.py", 7, "_work"),
        place("~", 0, "<method 'search' of '_regex.Pattern' objects>"),
    ] == [
        "httpx/_client.py:5 send",
        "asyncio/events.py:80 _run",
        "failproof_es/engine/driver.py:7 _work",
        "method 'search' of '_regex.Pattern' objects",
    ]


def test_samples_are_counted_by_thread_and_by_function() -> None:
    lines = holders_tables(STACKS, 25)
    assert lines[0] == "All threads: 10 samples with the interpreter lock held."
    assert "| 80.0% | `MainThread` |" in lines
    assert "| 80.0% | `failproof_es/store/mapper.py encode` |" in lines
    assert "| 20.0% | `threading.py run` |" in lines


def test_the_table_of_calls_has_so_many_rows() -> None:
    profile = cProfile.Profile()
    profile.runcall(lambda: sorted(range(1000), key=lambda each: -each))
    lines = calls_table(pstats.Stats(profile), 2)
    assert sum("`" in line and line.count("|") == 6 for line in lines) == 2
