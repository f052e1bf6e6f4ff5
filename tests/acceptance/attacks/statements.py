"""What an attacker who has read docs/reference/evidence-format.md says to the database."""

from __future__ import annotations

from tests.acceptance.attacks.world import PASSED

LEAF_OF = (
    "sha256('\\x00'::bytea || convert_to(E'failproof-es/event/1\\n', 'UTF8') "
    "|| uuid_send(originator_id) || int8send(originator_version) "
    "|| int2send(octet_length(topic)::int2) || convert_to(topic, 'UTF8') "
    "|| int8send(octet_length(state)) || sha256(state))"
)
"""The leaf of a row, as its writer would have computed it."""

FORGED = "convert_to(replace(convert_from(state, 'UTF8'), {}, {}), 'UTF8')"
"""The row's state with a text in the place of another one."""

INVOKER = "WITH (security_invoker = true)"
"""How every view asks: on behalf of its reader."""

FORGED_RESPONSE = FORGED.format('\'"text":"no"\'', '\'"text":"ok"\'')
"""The row's state with another answer of the model."""


def insert(position: int) -> str:
    """An event that never happened, with a leaf hash that fits it."""
    return (
        "WITH forged AS (SELECT gen_random_uuid() AS originator_id, "
        "1::bigint AS originator_version, 'Scored'::text AS topic, "
        f'convert_to(\'{{"schema_version":1,"run_id":"{PASSED}"}}\', \'UTF8\') AS state) '
        "INSERT INTO failproof.events (notification_id, originator_id, originator_version, topic, "
        "state, run_id, leaf_hash) OVERRIDING SYSTEM VALUE "
        f"SELECT {position}, originator_id, originator_version, topic, state, '{PASSED}', "
        f"{LEAF_OF} FROM forged"
    )
