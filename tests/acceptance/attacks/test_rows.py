"""Attacks on the rows of the log, by a superuser who takes every guard down first."""

from __future__ import annotations

from uuid import UUID

import pytest

from failproof_es.assurance.integrator import LedgerBroken, integrate, sign_checkpoint
from failproof_es.assurance.verification import (
    CLOCK,
    ROW_ADDED,
    ROW_CHANGED,
    ROW_MISLABELLED,
    ROW_MISSING,
    TAIL_CUT,
)
from failproof_es.ledger.contents import EvidenceError
from failproof_es.ledger.leaf import leaf_hash
from tests.acceptance.attacks.conftest import Attacked, first, found
from tests.acceptance.attacks.world import FAILED, OTHER, PASSED, THRESHOLD

LEAF_OF = (
    "sha256('\\x00'::bytea || convert_to(E'failproof-es/event/1\\n', 'UTF8') "
    "|| uuid_send(originator_id) || int8send(originator_version) "
    "|| int2send(octet_length(topic)::int2) || convert_to(topic, 'UTF8') "
    "|| int8send(octet_length(state)) || sha256(state))"
)
"""What an attacker who has read docs/evidence-format.md computes the leaf with."""

FORGED = "convert_to(replace(convert_from(state, 'UTF8'), {}, {}), 'UTF8')"


def test_a_response_edited_by_a_superuser_is_named(log: Attacked) -> None:
    forged = log.event("ResponseReceived", PASSED, 7)
    state = FORGED.format('\'"text":"no"\'', '\'"text":"ok"\'')
    log.tamper(
        f"UPDATE failproof.events SET state = {state} WHERE notification_id = {forged.position}"
    )
    result = log.verify()
    named = first(result, ROW_CHANGED)
    assert found(result) == {ROW_CHANGED}
    assert (named.index, named.position) == (log.index(forged.position), forged.position)
    assert (named.stream_id, named.version, named.topic) == (
        UUID(bytes=forged.stream_id),
        2,
        "ResponseReceived",
    )
    with pytest.raises(EvidenceError, match="the run is not whole"):
        log.evidence(PASSED)


def test_a_row_edited_together_with_its_leaf_hash_is_named(log: Attacked) -> None:
    forged = log.event("Scored", FAILED)
    state = FORGED.format("'\"accuracy\":0.0'", "'\"accuracy\":1.0'")
    log.tamper(
        f"UPDATE failproof.events SET state = {state} WHERE notification_id = {forged.position}",
        f"UPDATE failproof.events SET leaf_hash = {LEAF_OF} "
        f"WHERE notification_id = {forged.position}",
    )
    changed = log.event("Scored", FAILED)
    assert changed.leaf_hash == leaf_hash(
        changed.stream_id, changed.version, changed.topic, changed.state
    )
    named = first(log.verify(), ROW_CHANGED)
    assert (named.position, named.topic) == (forged.position, "Scored")
    assert "put into the tree" in named.message


def test_a_leaf_hash_edited_alone_is_named(log: Attacked) -> None:
    forged = log.event("Scored", PASSED)
    log.tamper(
        "UPDATE failproof.events SET leaf_hash = sha256('') "
        f"WHERE notification_id = {forged.position}"
    )
    named = first(log.verify(), ROW_CHANGED)
    assert named.position == forged.position


def test_a_threshold_changed_after_the_fact_is_named(log: Attacked) -> None:
    started = log.event("RunStarted", PASSED)
    state = FORGED.format(f"'\"min_accuracy\":{THRESHOLD}'", "'\"min_accuracy\":0.1'")
    log.tamper(
        f"UPDATE failproof.events SET state = {state} WHERE notification_id = {started.position}"
    )
    assert log.event("RunStarted", PASSED).state != started.state
    named = first(log.verify(), ROW_CHANGED)
    assert (named.stream_id, named.version, named.topic) == (PASSED, 1, "RunStarted")


def test_a_gate_changed_at_the_end_of_a_run_is_named(log: Attacked) -> None:
    state = FORGED.format("'\"met\":true'", "'\"met\":null'")
    log.tamper(f"UPDATE failproof.events SET state = {state} WHERE topic = 'RunCompleted'")
    assert [(each.kind, each.stream_id) for each in log.verify().findings] == [
        (ROW_CHANGED, PASSED),
        (ROW_CHANGED, OTHER),
    ]


def test_a_topic_changed_is_named(log: Attacked) -> None:
    log.tamper("UPDATE failproof.events SET topic = 'RunCompleted' WHERE topic = 'RunFailed'")
    named = first(log.verify(), ROW_CHANGED)
    assert (named.stream_id, named.topic) == (FAILED, "RunCompleted")


def test_a_stream_version_changed_is_named(log: Attacked) -> None:
    forged = log.event("RequestSent", PASSED)
    log.tamper(
        "UPDATE failproof.events SET originator_version = 99 "
        f"WHERE notification_id = {forged.position}"
    )
    named = first(log.verify(), ROW_CHANGED)
    assert (named.position, named.version) == (forged.position, 99)


def test_an_event_moved_to_another_stream_is_named(log: Attacked) -> None:
    forged = log.event("Scored", PASSED)
    log.tamper(
        "UPDATE failproof.events SET originator_id = gen_random_uuid() "
        f"WHERE notification_id = {forged.position}"
    )
    assert first(log.verify(), ROW_CHANGED).position == forged.position


def test_two_rows_swapped_are_both_named(log: Attacked) -> None:
    one, two = (log.event("Scored", PASSED, n).position for n in (3, 4))
    log.tamper(
        "ALTER TABLE failproof.events ALTER notification_id SET GENERATED BY DEFAULT",
        f"UPDATE failproof.events SET notification_id = -1 WHERE notification_id = {one}",
        f"UPDATE failproof.events SET notification_id = {one} WHERE notification_id = {two}",
        f"UPDATE failproof.events SET notification_id = {two} WHERE notification_id = -1",
        "ALTER TABLE failproof.events ALTER notification_id SET GENERATED ALWAYS",
    )
    assert [(each.kind, each.position) for each in log.verify().findings] == [
        (ROW_CHANGED, one),
        (ROW_CHANGED, two),
    ]


def test_the_contents_of_two_rows_swapped_are_both_named(log: Attacked) -> None:
    one, two = (log.event("Scored", run).position for run in (FAILED, PASSED))
    log.tamper(
        "UPDATE failproof.events AS e SET state = other.state FROM failproof.events AS other "
        f"WHERE e.notification_id IN ({one}, {two}) AND other.notification_id IN ({one}, {two}) "
        "AND other.notification_id <> e.notification_id"
    )
    changed = [each.position for each in log.verify().findings if each.kind == ROW_CHANGED]
    assert changed == [one, two]


def test_a_run_id_changed_so_that_the_run_does_not_show_an_event_is_named(log: Attacked) -> None:
    hidden = log.event("RunFailed", FAILED)
    log.tamper(
        f"UPDATE failproof.events SET run_id = '{OTHER}' WHERE notification_id = {hidden.position}"
    )
    named = first(log.verify(), ROW_MISLABELLED)
    assert (named.stream_id, named.topic) == (FAILED, "RunFailed")


def test_a_run_id_removed_is_named(log: Attacked) -> None:
    hidden = log.event("ResponseReceived", FAILED)
    log.tamper(
        f"UPDATE failproof.events SET run_id = NULL WHERE notification_id = {hidden.position}"
    )
    assert first(log.verify(), ROW_MISLABELLED).position == hidden.position
    with pytest.raises(EvidenceError):
        log.evidence(FAILED)


def test_a_row_deleted_is_named(log: Attacked) -> None:
    gone = log.event("Scored", FAILED, 5)
    index = log.index(gone.position)
    log.tamper(f"DELETE FROM failproof.events WHERE notification_id = {gone.position}")
    result = log.verify()
    named = first(result, ROW_MISSING)
    assert (found(result), named.index, named.position) == ({ROW_MISSING}, index, gone.position)


def test_a_row_deleted_and_the_rest_moved_up_to_close_the_gap_is_named(log: Attacked) -> None:
    gone = log.event("Scored", FAILED, 5)
    index = log.index(gone.position)
    log.tamper(
        f"DELETE FROM failproof.events WHERE notification_id = {gone.position}",
        "ALTER TABLE failproof.events ALTER notification_id SET GENERATED BY DEFAULT",
        f"UPDATE failproof.events SET notification_id = -notification_id "
        f"WHERE notification_id > {gone.position}",
        "UPDATE failproof.events SET notification_id = -notification_id - 1 "
        "WHERE notification_id < 0",
        "ALTER TABLE failproof.events ALTER notification_id SET GENERATED ALWAYS",
    )
    result = log.verify()
    assert result.findings[0].index == index
    assert ROW_CHANGED in found(result)


def test_prompts_deleted_are_named(log: Attacked) -> None:
    log.tamper("DELETE FROM failproof.events WHERE topic = 'PromptStored'")
    result = log.verify()
    named = first(result, ROW_MISSING)
    assert (named.index, result.more[ROW_MISSING] > 0) == (0, True)
    with pytest.raises(EvidenceError):
        log.evidence(PASSED)


def test_a_run_deleted_whole_is_named(log: Attacked) -> None:
    begun = log.index(log.event("RunStarted", FAILED).position)
    log.tamper(
        f"DELETE FROM failproof.events WHERE run_id = '{FAILED}'",
        f"DELETE FROM failproof.run_numbers WHERE run_id = '{FAILED}'",
    )
    result = log.verify()
    assert first(result, ROW_MISSING).index == begun
    # Tiles still say where the other events stand, but the attempts leave a gap.
    with pytest.raises(EvidenceError, match="attempts leave a gap"):
        log.evidence(PASSED)


def test_the_tail_cut_is_named(log: Attacked) -> None:
    """With the tiles left in place: the tree has what the log has not."""
    sealed = log.event("RunSealed", OTHER)
    log.tamper(f"DELETE FROM failproof.events WHERE notification_id >= {sealed.position}")
    assert first(log.verify(), ROW_MISSING).index == log.recorded.sizes.other - 1


def test_an_event_put_into_a_gap_of_the_positions_is_named(log: Attacked) -> None:
    positions = [row.position for row in log.rows()]
    gap = next(n for n in range(1, positions[-1]) if n not in set(positions))
    log.tamper(insert(gap))
    named = first(log.verify(), ROW_ADDED)
    assert (named.position, named.topic) == (gap, "Scored")


@pytest.mark.parametrize("position", [0, -5, -(1 << 63)])
def test_an_event_put_before_the_first_one_is_named(log: Attacked, position: int) -> None:
    log.tamper(insert(position))
    assert first(log.verify(), ROW_ADDED).position == position


def test_a_position_used_twice_is_named(log: Attacked) -> None:
    taken = log.event("Scored", FAILED).position
    log.tamper("DROP INDEX failproof.events_notification_id_idx", insert(taken))
    result = log.verify()
    assert first(result, ROW_ADDED).position == taken


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


def test_an_event_appended_to_a_sealed_run_is_refused_by_its_seal(log: Attacked) -> None:
    """The log itself is genuine: it was appended. But the run is not what was sealed."""
    with log.superuser.transaction():
        end = log.fetch("SELECT max(notification_id) + 1 FROM failproof.events")[0][0]
        log.superuser.execute(insert(end).encode())
    assert log.verify(outside=True).genuine
    with log.engine() as store, store.connect() as connection:
        sign_checkpoint(connection, log.recorded.key)
    with pytest.raises(EvidenceError, match=r"is not of this run|asks what was not planned|seal"):
        log.evidence(PASSED)


def test_the_whole_table_loaded_anew_without_the_failed_run_is_named(log: Attacked) -> None:
    log.tamper(
        "CREATE TABLE public.kept AS SELECT * FROM failproof.events "
        f"WHERE run_id IS DISTINCT FROM '{FAILED}'",
        "TRUNCATE failproof.events RESTART IDENTITY",
        "INSERT INTO failproof.events (originator_id, originator_version, topic, state, run_id, "
        "recorded_at, leaf_hash) SELECT originator_id, originator_version, topic, state, run_id, "
        "recorded_at, leaf_hash FROM public.kept ORDER BY notification_id",
        "DROP TABLE public.kept",
    )
    result = log.verify()
    named = first(result, ROW_CHANGED)
    assert (named.index, named.stream_id, named.topic) == (40, PASSED, "RunStarted")


def test_rows_rewritten_by_alter_using_are_named(log: Attacked) -> None:
    """`ALTER TABLE ... USING` puts new bytes into every row and fires no row trigger."""
    state = FORGED.format("'\"accuracy\":0.0'", "'\"accuracy\":1.0'")
    views = ("event_log", "stored_events")
    definitions = {
        view: log.fetch(f"SELECT pg_get_viewdef('failproof.{view}'::regclass)")[0][0]
        for view in views
    }
    log.tamper(
        "DROP VIEW failproof.event_log, failproof.stored_events",
        f"ALTER TABLE failproof.events ALTER COLUMN state TYPE bytea USING {state}",
        *(f"CREATE VIEW failproof.{view} AS {definitions[view]}" for view in views),
        *(f"ALTER VIEW failproof.{view} OWNER TO failproof_owner" for view in views),
        "GRANT SELECT ON failproof.stored_events TO failproof_auditor, failproof_writer",
    )
    named = first(log.verify(), ROW_CHANGED)
    assert named.position == log.event("Scored", FAILED).position
    assert found(log.verify()) == {ROW_CHANGED}


def test_a_row_edited_in_replica_mode_is_named(log: Attacked) -> None:
    """Triggers that do not say ALWAYS are silent in replica mode: so they are made to be."""
    forged = log.event("Scored", FAILED)
    with log.superuser.transaction():
        log.superuser.execute("SET LOCAL event_triggers = off")
        for trigger in ("statements_change_nothing", "rows_never_change"):
            log.superuser.execute(f"ALTER TABLE failproof.events ENABLE TRIGGER {trigger}".encode())
        log.superuser.execute("SET LOCAL session_replication_role = replica")
        log.superuser.execute(
            "UPDATE failproof.events SET state = state || ' ' WHERE notification_id = %s",
            (forged.position,),
        )
    assert first(log.verify(), ROW_CHANGED).position == forged.position


# -- before the tree has it ------------------------------------------------------------------


def test_a_row_of_the_tail_that_is_edited_is_named_and_nothing_is_signed_over_it(
    log: Attacked,
) -> None:
    forged = log.rows()[-1]
    log.tamper(
        f"UPDATE failproof.events SET state = state || ' ' "
        f"WHERE notification_id = {forged.position}"
    )
    assert first(log.verify(), ROW_CHANGED).index == log.recorded.sizes.all - 1
    with log.engine() as store, store.connect() as connection, pytest.raises(LedgerBroken):
        integrate(connection)


def test_window_a_row_of_the_unsigned_tail_edited_with_its_leaf_hash_is_not_found(
    log: Attacked,
) -> None:
    """Until the next checkpoint (10 s, or the run's end), nobody else has seen the leaf."""
    forged = log.rows()[-1]
    place = f"WHERE notification_id = {forged.position}"
    log.tamper(
        f"UPDATE failproof.events SET state = state || ' ' {place}",
        f"UPDATE failproof.events SET leaf_hash = {LEAF_OF} {place}",
    )
    result = log.verify(outside=True)
    assert result.genuine
    assert result.tree_size > result.signed_size


def test_window_the_unsigned_tail_deleted_is_not_found(log: Attacked) -> None:
    position = log.rows()[log.recorded.sizes.other].position
    log.tamper(f"DELETE FROM failproof.events WHERE notification_id >= {position}")
    result = log.verify(outside=True)
    assert (result.genuine, result.tree_size) == (True, log.recorded.sizes.other)
    assert TAIL_CUT not in found(result)


# -- columns that no leaf commits to -----------------------------------------------------------


def test_an_event_dated_back_is_named(log: Attacked) -> None:
    forged = log.event("RunStarted", PASSED)
    log.tamper(
        "UPDATE failproof.events SET recorded_at = recorded_at - interval '1 day' "
        f"WHERE notification_id = {forged.position}"
    )
    named = first(log.verify(), CLOCK)
    assert (named.stream_id, named.topic) == (PASSED, "RunStarted")


def test_an_event_dated_on_is_named_by_the_one_after_it(log: Attacked) -> None:
    forged = log.event("RunStarted", PASSED)
    log.tamper(
        "UPDATE failproof.events SET recorded_at = recorded_at + interval '1 day' "
        f"WHERE notification_id = {forged.position}"
    )
    named = first(log.verify(), CLOCK)
    assert named.index == log.index(forged.position) + 1


def test_window_every_event_dated_back_alike_is_not_found(log: Attacked) -> None:
    """recorded_at is the database's word, and in no leaf; the event's own timestamp is."""
    log.tamper("UPDATE failproof.events SET recorded_at = recorded_at - interval '1 year'")
    assert log.verify(outside=True).genuine


def test_window_an_event_dated_back_within_the_tolerance_is_not_found(log: Attacked) -> None:
    log.tamper(
        "UPDATE failproof.events SET recorded_at = recorded_at - interval '0.5 s' "
        "WHERE topic = 'RunFailed'"
    )
    assert log.verify(outside=True).genuine


def test_window_positions_moved_in_their_order_together_with_the_tiles_are_not_found(
    log: Attacked,
) -> None:
    """The tree commits to the order of the events, and not to the numbers of the positions."""
    log.tamper(
        "ALTER TABLE failproof.events ALTER notification_id SET GENERATED BY DEFAULT",
        "UPDATE failproof.events SET notification_id = notification_id + 1000000",
        "UPDATE failproof.ledger_tiles SET positions = "
        "(SELECT array_agg(p + 1000000 ORDER BY n) FROM unnest(positions) WITH ORDINALITY t(p, n)) "
        "WHERE level = 0",
        "ALTER TABLE failproof.events ALTER notification_id SET GENERATED ALWAYS",
    )
    assert log.verify(outside=True).genuine
