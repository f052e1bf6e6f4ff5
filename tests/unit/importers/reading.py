"""Reading a source as an import does, without a database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from failproof_es.importers.protocol import Findings, ImportedCase, NotMappedList, Options
from failproof_es.importers.registry import importer_named
from failproof_es.importers.source import Source
from failproof_es.importers.suites import write_suites

FILES = Path(__file__).parent / "files"


class ImportedSource(NamedTuple):
    """What an importer made of a source."""

    cases: list[ImportedCase]
    findings: Findings

    @property
    def lost(self) -> list[str]:
        """What was not mapped, a line each, without the folder."""
        return [
            f"{Path(each.place.path).name}:{each.place.line or ''}:{each.place.field or ''} "
            f"{each.reason}"
            for each in self.findings.not_mapped.entries
        ]


def read(
    kind: str,
    path: Path,
    *,
    columns: dict[str, str] | None = None,
    match: str | None = None,
    split: str | None = None,
) -> ImportedSource:
    """The cases of a source. Raises `InvalidInput`."""
    findings = Findings()
    options = Options(columns or {}, match, split)
    return ImportedSource(
        list(importer_named(kind).cases(Source(path), options, findings)), findings
    )


def importing(folder: Path, configuration: str, **files: str) -> ImportedSource:
    """What becomes of a promptfoo configuration beside other files, `a__txt` for `a.txt`."""
    (folder / "promptfooconfig.yaml").write_text(configuration)
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(content)
    return read("promptfoo", folder)


def written(cases: list[ImportedCase], folder: Path, findings: Findings | None = None) -> Any:
    """The documents of each suite that is written, by its file's name."""
    folder.mkdir()
    suites = write_suites(iter(cases), folder, "made", findings or Findings())
    return {
        suite.file.name: [json.loads(line) for line in suite.file.read_text("utf-8").splitlines()]
        for suite in suites
    }


def counted(found: NotMappedList) -> int:
    """How many were not mapped, listed or not."""
    return len(found.entries) + sum(found.more.values())
