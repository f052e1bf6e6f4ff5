"""The number of examples that Hypothesis tries for a property, by the profile of a run.

| profile  | examples | drawn          | run by                       |
|----------|---------:|----------------|------------------------------|
| `few`    |       12 | the same ones  | `make quick`, `make test`    |
| `many`   |       24 | the same ones  | `make test-all`, `.ci/run`   |
| `search` |      200 | at random      | `make search`                |

`pytest --hypothesis-profile=NAME` chooses one; `few` is the default. A test that needs another
number sets it as a factor of the profile's: `@settings(max_examples=examples(0.2))`.
"""

from __future__ import annotations

from hypothesis import settings

FEW = 12
MANY = 24
SEARCHED = 200


def register_profiles() -> None:
    """Register the three profiles, and load `few`."""
    settings.register_profile("few", deadline=None, derandomize=True, max_examples=FEW)
    settings.register_profile("many", deadline=None, derandomize=True, max_examples=MANY)
    settings.register_profile("search", deadline=None, print_blob=True, max_examples=SEARCHED)
    settings.load_profile("few")


def stride(many: int = 1) -> int:
    """Step through an exhaustive list of variants: `range(0, len(variants), stride())`.

    `many` in the profile `many`, eight times as much in `few`; `search` tries every variant.
    """
    if not settings().derandomize:
        return 1
    return many if settings().max_examples >= MANY else 8 * many


def examples(factor: float) -> int:
    """`factor` times the number of examples of the profile in use, at least one."""
    return max(1, round(settings().max_examples * factor))
