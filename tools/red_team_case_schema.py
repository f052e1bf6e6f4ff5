"""The JSON Schema of a case, for editors that complete and check it.

`python -m tools.red_team_case_schema` prints what stands in `case.schema.json`.
"""

from __future__ import annotations

import json
import sys

from failproof_es.dialects.shipped.redteam.files.red_team_case import RedTeamCase


def schema_json() -> str:
    """The schema as indented JSON with a closing newline; the same text every time."""
    schema = RedTeamCase.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "Red-team case (specification 002)"
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_json())
