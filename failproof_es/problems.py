"""Problems in a user's input: where each one is, what it is, and what to do.

Case files and configurations are untrusted input. A reader collects every problem of a whole
batch in a `Problems` and raises `InvalidInput` once, at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from failproof_es.support.key_shapes import hide_keys, may_hold_key

_RANGES = frozenset(
    {
        "greater_than",
        "greater_than_equal",
        "less_than",
        "less_than_equal",
        "finite_number",
        "multiple_of",
        "too_long",
        "string_too_long",
    }
)
"""Types of pydantic's errors about the size of a value."""

Severity = Literal["error", "warning", "remark"]
"""An `error` stops a run, a `warning` is a likely mistake, a `remark` is information."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One defect, or a remark.

    `code` names the kind of defect and does not change, such as `unknown-field`;
    `problem_codes.py` lists the codes. `line` counts from 1; `field` is a dotted path
    such as `models[0].model`. `case_line` is the first line of the defective case, where that is
    another line. What has the shape of a key in a text becomes `***`.
    """

    code: str
    message: str
    path: Path | None = None
    line: int | None = None
    field: str | None = None
    remedy: str | None = None
    severity: Severity = "error"
    case_line: int | None = None

    def __post_init__(self) -> None:
        for name in ("message", "field", "remedy"):
            if (text := getattr(self, name)) is not None:
                object.__setattr__(self, name, hide_keys(text))

    @property
    def case(self) -> tuple[Path | None, int | None]:
        """Path and first line of the defective case: the same for all defects of a case."""
        return self.path, self.line if self.case_line is None else self.case_line

    def describe(self) -> str:
        """The problem as text; a warning begins with `warning: `."""
        return f"warning: {self}" if self.severity == "warning" else str(self)

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.path, self.line) if part is not None)
        parts = [part for part in (place, self.field) if part]
        text = ": ".join([*parts, self.message])
        sentence = f"{text} ({self.remedy})" if self.remedy else text
        sentence = sentence if self.severity == "remark" else f"{sentence} [{self.code}]"
        # A path may hold bytes that are not UTF-8.
        return sentence.encode("utf-8", "backslashreplace").decode("utf-8")


@dataclass(slots=True)
class Problems:
    """All defects found so far, in the order in which they were found."""

    problems: list[Problem] = field(default_factory=list)

    def error(
        self,
        code: str,
        message: str,
        *,
        path: Path | None = None,
        line: int | None = None,
        field: str | None = None,
        remedy: str | None = None,
        case_line: int | None = None,
    ) -> None:
        """Record a defect that makes the whole input unusable.

        The parameters are those of `Problem`.
        """
        self.problems.append(Problem(code, message, path, line, field, remedy, "error", case_line))

    def warning(
        self,
        code: str,
        message: str,
        *,
        path: Path | None = None,
        line: int | None = None,
        field: str | None = None,
        remedy: str | None = None,
        case_line: int | None = None,
    ) -> None:
        """Record a likely mistake that does not stop the run.

        The parameters are those of `Problem`.
        """
        self.problems.append(
            Problem(code, message, path, line, field, remedy, "warning", case_line)
        )

    def remark(self, message: str) -> None:
        """Record information that is no defect."""
        self.problems.append(Problem("remark", message, severity="remark"))

    @property
    def errors(self) -> list[Problem]:
        """The recorded defects that make the input unusable, in the order found."""
        return [problem for problem in self.problems if problem.severity == "error"]

    @property
    def warnings(self) -> list[Problem]:
        """The recorded warnings and remarks, which do not stop a run, in the order found."""
        return [problem for problem in self.problems if problem.severity != "error"]

    def __iter__(self) -> Iterator[Problem]:
        return iter(self.problems)

    def raise_errors(self) -> None:
        """Raise `InvalidInput` with every error and warning found, if there is an error."""
        if errors := self.errors:
            raise InvalidInput(errors, self.warnings)


def text_list_problem(value: object, field: str, example: str) -> Problem | None:
    """The problem with an argument that must be a list or tuple of texts; `None` if it is one.

    `field` names the argument, `example` is an entry for the remedy. A single text is a problem:
    its characters would be taken for entries.
    """
    if isinstance(value, list | tuple) and all(isinstance(text, str) for text in value):
        return None
    kind = type(value).__name__
    what = f"a {kind} with another entry than texts" if kind in ("list", "tuple") else f"a {kind}"
    remedy = f'write {field}=["{example}"]'
    return Problem("wrong-type", f"{what} is no list of texts", field=field, remedy=remedy)


def require_text_list(value: object, field: str, example: str) -> None:
    """Raise `InvalidInput` unless `value` is a list or tuple of texts.

    `field` names the argument, `example` is an entry for the remedy.
    """
    if (problem := text_list_problem(value, field, example)) is not None:
        raise InvalidInput([problem])


def unreadable_problem(path: Path, error: OSError, *, field: str | None = None) -> Problem:
    """The problem of a file or folder that cannot be read, with the system's reason."""
    is_missing = isinstance(error, FileNotFoundError | NotADirectoryError)
    reason = (error.strerror or str(error)).lower()
    return Problem(
        "file-not-found" if is_missing else "file-unreadable",
        f"cannot be read: {reason}",
        path,
        field=field,
        remedy="check the path",
    )


def shown_value(
    value: Any, *, nothing: str = "null", mapping: str = "an object", longest: int = 40
) -> str:
    """A wrong value for an error message: short, on one line, in the words of its file's format.

    `nothing` and `mapping` are the format's words for an absent value and an object, `longest` the
    maximum characters. A possible key is not shown. Never raises.
    """
    match value:
        case None:
            return nothing
        case bool():
            return "true" if value else "false"
        case dict():
            return mapping
        case list():
            return "a list"
        case int() if value.bit_length() > 64:  # Python refuses to format thousands of digits
            return f"a number of {value.bit_length()} bits"
        case str() if may_hold_key(value):
            return "what looks like a key"
        case _:
            text = repr(value) if isinstance(value, str | int | float) else str(value)
            return text if len(text) <= longest else f"{text[: longest - 3]}..."


def schema_code(kind: str) -> str:
    """The code of a schema error of pydantic, by its `type`.

    A validator of a schema here may name a code itself, as the type of its `PydanticCustomError`.
    """
    match kind:
        case _ if "-" in kind:
            return kind
        case "missing":
            return "missing-field"
        case "extra_forbidden":
            return "unknown-field"
        case "too_short" | "string_too_short":
            return "empty-value"
        case _ if kind in _RANGES:
            return "out-of-range"
        case _ if kind.endswith(("_type", "_parsing", "_from_float")):
            return "wrong-type"
        case _:
            return "invalid-value"


class InvalidInput(Exception):
    """The error for unusable usage, configuration or case files (exit code 2).

    It has all `problems`, and the `warnings` found beside them. Nothing was sent.
    """

    def __init__(self, problems: list[Problem], warnings: Sequence[Problem] = ()) -> None:
        self.problems = problems
        self.warnings = tuple(warnings)
        super().__init__("\n".join(str(problem) for problem in problems))

    @classmethod
    def because(
        cls, code: str, message: str, *, remedy: str | None = None, field: str | None = None
    ) -> InvalidInput:
        """An error with one problem that has no place in a file; `remedy` says what to do."""
        return cls([Problem(code, message, field=field, remedy=remedy)])
