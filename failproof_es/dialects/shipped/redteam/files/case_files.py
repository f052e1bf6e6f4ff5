"""Reads the three formats of case files: JSON lines, one JSON object, and YAML.

All three are read with the strictness of `json_lines`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from failproof_es.dialects.kit.file_shapes import shape_of_json
from failproof_es.dialects.kit.json_lines import (
    MAX_LINE_BYTES,
    Defect,
    parse_object,
    read_objects,
    report_unreadable,
)
from failproof_es.dialects.kit.looking import has_yaml_key, head_of
from failproof_es.dialects.kit.written_cases import WrittenCase, yaml_cases
from failproof_es.dialects.kit.yaml_documents import parse_yaml
from failproof_es.problems import Problems

SUFFIXES = (".jsonl", ".json", ".yaml", ".yml")
_MARKS = (b"expected_behavior", b"severity_expectation")
_BOM = b"\xef\xbb\xbf"


def looks_like_ours(path: Path) -> bool:
    """Whether the file's first 64 KiB have a key that only specification 002 has.

    `False` for other suffixes than `SUFFIXES`, and for a file that can't be read.
    """
    head = head_of(path, SUFFIXES)
    if path.suffix.lower() in (".yaml", ".yml"):
        return has_yaml_key(head, _MARKS)
    return any(b'"%s"' % mark in head for mark in _MARKS)


def read_cases(path: Path, problems: Problems) -> Iterator[WrittenCase]:
    """Every case of the file that is a JSON object; every defect goes to `problems`.

    The cases are not validated.
    """
    match path.suffix.lower():
        case ".json":
            yield from _one_object(path, problems)
        case ".yaml" | ".yml":
            yield from yaml_cases(path, problems)
        case _:
            for line, document in read_objects(path, problems):
                yield WrittenCase(document, line)


def _one_object(path: Path, problems: Problems) -> Iterator[WrittenCase]:
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_LINE_BYTES + 1).removeprefix(_BOM)
    except OSError as error:
        report_unreadable(problems, path, error)
        return
    if len(raw) > MAX_LINE_BYTES:
        problems.error(
            "file-too-large", f"the file is longer than {MAX_LINE_BYTES // 1024**2} MiB", path=path
        )
        return
    try:
        document = parse_object(raw, "file")
    except Defect as defect:
        if raw.lstrip()[:1] == b"[" and (shape := shape_of_json(raw)):
            problems.error(
                "foreign-format", shape[0], path=path, remedy=f"{shape[1]}, in a .jsonl file"
            )
            return
        defect.report(problems, path=path)
        return
    lines = parse_yaml(path, raw.decode("utf-8"), Problems())  # read as YAML, only for the lines
    yield WrittenCase(document, 1, lines)
