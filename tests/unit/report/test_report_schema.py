"""A report as JSON keeps to the schema that stands in the documentation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from uuid import UUID

import orjson
import pytest
from jsonschema import Draft202012Validator, ValidationError

from failproof_es.events import Finding
from failproof_es.report.formats.json_csv import json_pieces
from tests.unit.report.documents import SOUND
from tests.unit.report.test_page import full_report
from tools.report_schema import text

SCHEMA = Path(__file__).parents[3] / "docs" / "reference" / "report.schema.json"


def test_the_committed_schema_is_that_of_the_report() -> None:
    """Renew: `python -m tools.report_schema > docs/reference/report.schema.json`."""
    assert SCHEMA.read_text() == text() + "\n"


def test_a_report_keeps_to_it_and_a_part_of_one_does_not() -> None:
    validator = Draft202012Validator(orjson.loads(SCHEMA.read_bytes()))
    report = full_report("\x1b[31m=1+1")
    finding = Finding(kind="not_scored", integrity=False, message="two", evaluation_id=UUID(int=9))
    found = SOUND.model_copy(update={"findings": (finding,)})
    run = report.asked[0].run.model_copy(update={"validation": found})
    report = replace(report, asked=(replace(report.asked[0], run=run),))
    document = orjson.loads(b"".join(json_pieces(report)))
    validator.validate(document)
    validator.validate(orjson.loads(b"".join(json_pieces(replace(report, gates=())))))
    del document["funnels"][0]["planned"]
    with pytest.raises(ValidationError, match="planned"):
        validator.validate(document)
