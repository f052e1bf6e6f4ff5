"""The JSON Schema of a configuration, for editors that complete and check it.

`python -m tools.configuration_schema` prints what stands in
`configs/failproof-es.schema.json`.
"""

from __future__ import annotations

import json
import sys

from failproof_es.configuration.schema import Configuration


def schema_json() -> str:
    """The schema as indented JSON with a closing newline; the same text every time."""
    schema = Configuration.model_json_schema(by_alias=True)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "failproof-es run configuration"
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_json())
