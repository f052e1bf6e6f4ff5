"""Static analysis of shell commands. **Nothing here runs a command.**

A library of its own: it imports nothing else of this package and can be used by itself
(docs/how-to/shell-analysis.md).

    parse_command(text)        the syntax tree                  -> Script
    check_posix(text)          is it in POSIX's shell language  -> PosixVerdict
    judge_safety(text)         may one hand it to a person      -> SafetyVerdict
    compare(expected, actual)  do the two do the same           -> Equivalence

The three judges take any text and raise nothing because of it: text that is no shell has a
verdict too. `parse_command` raises `Unparseable`. All start `shfmt`, `check_posix` also
`shellcheck`; where one is not installed they raise `ProgramMissing`, which says what to install
(`require_programs` asks beforehand). Both errors are `ShellAnalysisError`s.

Verdicts are frozen dataclasses; they hold every reason and the versions of rules and programs.
Importing this package imports none of its parts: a name brings its part when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from failproof_es.shell_analysis.equivalence import (
        Equivalence,
        EquivalenceVerdict,
        compare,
        compare_many,
    )
    from failproof_es.shell_analysis.errors import ProgramMissing, ShellAnalysisError, Unparseable
    from failproof_es.shell_analysis.parse import (
        Language,
        Script,
        parse_command,
        parse_commands,
        require_programs,
    )
    from failproof_es.shell_analysis.posix import (
        Edition,
        PosixVerdict,
        check_posix,
        check_posix_many,
    )
    from failproof_es.shell_analysis.safety import (
        ReasonCode,
        SafetyReason,
        SafetyVerdict,
        judge_safety,
        judge_safety_many,
    )

_PART_OF = {
    **dict.fromkeys(
        ("Equivalence", "EquivalenceVerdict", "compare", "compare_many"), "equivalence"
    ),
    **dict.fromkeys(("ProgramMissing", "ShellAnalysisError", "Unparseable"), "errors"),
    **dict.fromkeys(("Language", "Script", "parse_command", "parse_commands"), "parse"),
    **dict.fromkeys(("Edition", "PosixVerdict", "check_posix", "check_posix_many"), "posix"),
    **dict.fromkeys(("ReasonCode", "SafetyReason", "SafetyVerdict"), "safety"),
    **dict.fromkeys(("judge_safety", "judge_safety_many"), "safety"),
    "require_programs": "parse",
}
"""The subpackage or module of each public name."""

__all__ = [
    "Edition",
    "Equivalence",
    "EquivalenceVerdict",
    "Language",
    "PosixVerdict",
    "ProgramMissing",
    "ReasonCode",
    "SafetyReason",
    "SafetyVerdict",
    "Script",
    "ShellAnalysisError",
    "Unparseable",
    "check_posix",
    "check_posix_many",
    "compare",
    "compare_many",
    "judge_safety",
    "judge_safety_many",
    "parse_command",
    "parse_commands",
    "require_programs",
]


if not TYPE_CHECKING:  # type checkers see only the imports above

    def __getattr__(name: str) -> object:
        """A public name, imported from its part. Raises `AttributeError` for any other name."""
        if name not in _PART_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_PART_OF[name]}"), name)


def __dir__() -> list[str]:
    """The names of the module, with the public ones that are not imported yet."""
    return sorted({*globals(), *__all__})
