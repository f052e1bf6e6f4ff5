"""SQL for the texts that a case is searched by: its title, description, turns and tags."""

from __future__ import annotations

from failproof_es.core.case import HEADINGS

_OF_HEADING = (
    "UNION ALL SELECT content #>> '{{document,{0}}}' "
    "WHERE json_typeof(content #> '{{document,{0}}}') = 'string' "
)
_OF_TAGS = (
    "UNION ALL SELECT tag #>> '{}' FROM json_array_elements(CASE "
    "WHEN json_typeof(content -> 'tags') = 'array' THEN content -> 'tags' END) AS tags (tag) "
)
TEXTS_OF_CASE = (
    "failproof.stored_events AS stored CROSS JOIN LATERAL (SELECT "
    r"replace(convert_from(stored.state, 'UTF8'), '\u0000', '\ufffd')::json -> 'case' AS content) "
    "AS read CROSS JOIN LATERAL ("
    "SELECT turn ->> 'content' FROM json_array_elements(content -> 'turns') AS each (turn) "
    + _OF_TAGS
    + "".join(map(_OF_HEADING.format, HEADINGS))
    + ") AS texts (sought)"
)
"""Tables of a FROM: a row with the column `sought` for each text of each case. Join `stored` by its
`originator_id`, the `prompt_id`, and `originator_version = 1`. NUL is U+FFFD."""
