"""The JSON Schema of `EvaluationResult`, which the specification's next step 1 asks for.

`python -m tools.command_result_schema` prints what stands in
`evaluation_result.schema.json`.
"""

from __future__ import annotations

import json
import sys

from failproof_es.dialects.shipped.command.models import EvaluationResult


def schema_json() -> str:
    """The schema as indented JSON with a closing newline; the same text every time."""
    schema = EvaluationResult.model_json_schema(mode="serialization")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_json())
