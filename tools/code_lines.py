"""Count lines of code: `python -m tools.code_lines` prints them by folder.

A line of code has a token that is neither a comment nor a docstring.
"""

from __future__ import annotations

import ast
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

ROOT = Path(__file__).parents[1]
_NO_CODE = frozenset(
    {
        *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
        tokenize.ENDMARKER,
    }
)
_SOURCES = {
    ".py": ("failproof_es", "projections", "tools", "tests"),
    ".sql": ("failproof_es", "projections"),
}


def python_lines(source: str) -> int:
    """Lines of code of a Python module. Raises `SyntaxError`."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str()), lineno=first, end_lineno=int() as last):
                docstrings.update(range(first, last + 1))
    code: set[int] = set()
    for token in tokenize.generate_tokens(StringIO(source).readline):
        if token.type not in _NO_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - docstrings)


def sql_lines(source: str) -> int:
    """Lines of SQL that are neither blank nor a comment."""
    lines = (line.strip() for line in source.splitlines())
    return sum(bool(line) and not line.startswith("--") for line in lines)


def lines_by_folder(suffix: str) -> Counter[str]:
    """Lines of code in files with the suffix `.py` or `.sql`, by the first two folders."""
    counted: Counter[str] = Counter()
    count = python_lines if suffix == ".py" else sql_lines
    for source in _SOURCES[suffix]:
        for file in sorted((ROOT / source).rglob(f"*{suffix}")):
            folders = file.relative_to(ROOT).parts[:-1][:2]
            counted["/".join(folders)] += count(file.read_text("utf-8"))
    return counted


def report() -> Iterator[str]:
    """The lines of the report."""
    for suffix, sources in _SOURCES.items():
        counted = lines_by_folder(suffix)
        yield f"{suffix} files"
        for folder, lines in counted.most_common():
            yield f"{lines:8,} {folder}"
        for source in sources:
            total = sum(
                lines for folder, lines in counted.items() if folder.split("/")[0] == source
            )
            yield f"{total:8,} all of {source}"


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in report())
