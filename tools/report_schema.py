"""The JSON Schema of a report as JSON: `python -m tools.report_schema` prints it."""

from __future__ import annotations

import sys
from typing import Any

import orjson
from pydantic import TypeAdapter

from failproof_es.report.data.content import Report


def schema() -> dict[str, Any]:
    """Draft 2020-12, made of the report's own types."""
    made = TypeAdapter(Report).json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}


def text() -> str:
    """As it stands in `docs/reference/report.schema.json`."""
    return orjson.dumps(schema(), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode()


if __name__ == "__main__":
    sys.stdout.write(text() + "\n")
