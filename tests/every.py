"""One test for many small cases.

Pytest takes 2 ms for each parameter of a test, and nine processes collect it; the case itself often
takes a tenth of that.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from _pytest.mark import ParameterSet

Test = Callable[..., None]


def every(names: str | Sequence[str], cases: Iterable[Any]) -> Callable[[Test], Test]:
    """Run all cases in one test, and raise the failures of all.

    Takes what `pytest.mark.parametrize` takes, without marks. Fixtures are made once for all cases.
    """
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
    sets = [ParameterSet.extract_from(case, force_tuple=len(names) == 1) for case in cases]
    assert sets, "no case"

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run(*instance: object, **fixtures: object) -> None:
            failures: list[BaseException] = []
            for case in sets:
                parameters = dict(zip(names, case.values, strict=True))
                try:
                    test(*instance, **parameters, **fixtures)
                except (Exception, BaseExceptionGroup, pytest.fail.Exception) as failure:
                    failure.add_note(f"case: {case.id or parameters}")
                    failures.append(failure)
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(sets)} cases", failures)

        signature = inspect.signature(test)
        left = [each for name, each in signature.parameters.items() if name not in names]
        run.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return run

    return decorate
