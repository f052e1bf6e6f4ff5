"""Red-team suites: case files in, cases out, nothing skipped silently."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from failproof_es.core.case import Case, Turn
from failproof_es.dialects.kit.judging import absences, prompt
from failproof_es.dialects.kit.schemas import schema_defects
from failproof_es.dialects.kit.taken_ids import SeenIds
from failproof_es.dialects.kit.unknown_keys import UnknownKeys
from failproof_es.dialects.kit.written_cases import WrittenCase
from failproof_es.dialects.kit.yaml_documents import Location
from failproof_es.dialects.shipped.redteam import source_block
from failproof_es.dialects.shipped.redteam.files import consistency, red_team_case
from failproof_es.dialects.shipped.redteam.files.case_files import read_cases
from failproof_es.dialects.shipped.redteam.files.red_team_case import RedTeamCase
from failproof_es.dialects.shipped.redteam.options import RedTeamOptions
from failproof_es.problems import Problems


def load(files: Sequence[Path], options: RedTeamOptions, problems: Problems) -> Iterator[Case]:
    """Yield every valid case, in file order; every defect of every file goes to `problems`.

    A case contains the conversation as sent and all data that it is graded by, so that a run needs
    neither file nor options again. Ids are unique over all files together.
    """
    with SeenIds() as seen_ids:
        for path in files:
            unknown_keys = UnknownKeys(problems)
            for written_case in read_cases(path, problems):
                reader = _RedTeamReader(path, written_case, problems)
                misspelt = reader.misspelt(unknown_keys)
                case = reader.case(seen_ids, options)
                if case is not None and not misspelt:
                    yield case


def as_case(
    read: RedTeamCase,
    document: dict[str, Any],
    suite_id: str,
    source: str | None,
    options: RedTeamOptions,
) -> Case:
    """The engine's case for a case of a file: the turns to send, and the data that grade them.

    `document` is the case as JSON, `suite_id` the name of its file without the suffix, `source` the
    file's name.
    """
    turns = tuple(Turn(role=turn.role, content=turn.content) for turn in read.turns)
    if read.sources:
        text = source_block.block(
            read.sources,
            options.sources_template or source_block.shipped("sources"),
            options.source_template or source_block.shipped("source"),
        )
        turns = source_block.with_block(turns, text)
    expectation: dict[str, Any] = {
        **read.expected_behavior.model_dump(),
        "language": read.language,
        "fails_by": list(options.fails_by),
        "judge_template": options.judge_template or prompt.shipped(),
    }
    if turned := absences(expectation):
        expectation["absences"] = turned
    if read.sources:
        expectation["sources"] = [source.model_dump() for source in read.sources]
    if read.tools_expected:
        expectation["tools_expected"] = list(read.tools_expected)
    return Case(
        dialect="redteam",
        case_id=read.id,
        suite_id=suite_id,
        turns=turns,
        expectation=expectation,
        category=read.category,
        source=source,
        tags=tuple(read.tags),
        severity=read.severity_expectation,
        document=document,
    )


@dataclass(frozen=True, slots=True)
class _RedTeamReader:
    path: Path
    written_case: WrittenCase
    problems: Problems

    def case(self, seen_ids: SeenIds, options: RedTeamOptions) -> Case | None:
        """The engine's case, or `None` with the reasons in `problems`.

        `seen_ids` are the ids of earlier cases, to which the case's id is added.
        """
        document = self.written_case.document
        unique = self._claim(seen_ids, document.get("id"))
        try:
            read = RedTeamCase.model_validate(document)
        except ValidationError as error:
            for code, location, message in schema_defects(error):
                self._error(code, location, message, None)
            return None
        defects = list(consistency.defects(read))
        for defect in defects:
            self._error(*defect)
        if defects or not unique:
            return None
        for remark in consistency.remarks(read):
            self.problems.warning(
                remark.code, remark.message, remedy=remark.remedy, **self._place_of(remark.location)
            )
        return as_case(read, document, self.path.stem, self.path.name, options)

    def misspelt(self, unknown_keys: UnknownKeys) -> bool:
        """Report the keys that the specification does not have. Returns whether one is an error."""
        misspelt = [
            unknown_keys.report(str(location[-1]), known_keys, owner, **self._place_of(location))
            for location, known_keys, owner in red_team_case.unknown_keys(
                self.written_case.document
            )
        ]
        return any(misspelt)

    def _claim(self, seen_ids: SeenIds, case_id: Any) -> bool:
        """Claim the case's id. For a duplicate, report an error and return `False`."""
        place = self._place_of(("id",))
        return isinstance(case_id, str) and seen_ids.is_new("", case_id, self.problems, **place)

    def _error(self, code: str, location: Location, message: str, remedy: str | None) -> None:
        self.problems.error(code, message, remedy=remedy, **self._place_of(location))

    def _place_of(self, location: Location) -> dict[str, Any]:
        return self.written_case.place_of(self.path, location)
