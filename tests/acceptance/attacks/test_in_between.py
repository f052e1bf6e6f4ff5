"""Attacks that leave the rows alone and stand between them and whoever reads or appends."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

import pytest

from failproof_es.assurance.checking.findings import (
    IN_BETWEEN,
    ROW_ADDED,
    ROW_CHANGED,
    ROW_MISSING,
    ROWS_HIDDEN,
)
from failproof_es.assurance.signing.integrator import LedgerBroken, integrate, sign_checkpoint
from failproof_es.events import Scored
from failproof_es.store.writing.recorder import IncompleteAppend
from tests.acceptance.attacks.conftest import Attacked, first, found
from tests.acceptance.attacks.statements import FORGED, INVOKER, LEAF_OF
from tests.acceptance.attacks.world import FAILED, OTHER, PASSED

COLUMNS = (
    "notification_id, originator_id, originator_version, topic, {state} AS state, run_id, "
    "recorded_at, leaf_hash"
)


def append(log: Attacked) -> None:
    """Append an event as the engine does."""
    with log.engine() as store:
        store.log.events.put(
            [
                Scored(
                    originator_id=uuid4(), originator_version=1, run_id=OTHER, prompt_id=OTHER,
                    timestamp=datetime.now(UTC), model_key="m", repetition=1,
                    scores={"accuracy": 0.0},
                    passed=False, reason="", scorer="s", scorer_version="1",
                )
            ]
        )  # fmt: skip


def replace_view(log: Attacked, select: str) -> None:
    """Replace the view that the log is read through, for everybody."""
    log.tamper(f"CREATE OR REPLACE VIEW failproof.stored_events {INVOKER} AS {select}")


# -- readers -------------------------------------------------------------------------------------


def test_rows_hidden_by_a_policy_are_named(log: Attacked) -> None:
    index = log.index(log.event("RunFailed", FAILED).position)
    log.tamper(
        "CREATE POLICY quiet ON failproof.events AS RESTRICTIVE USING (topic <> 'RunFailed')",
        "ALTER TABLE failproof.events FORCE ROW LEVEL SECURITY",
    )
    result = log.verify()
    assert {ROWS_HIDDEN, ROW_MISSING} <= found(result)
    assert first(result, ROW_MISSING).index == index
    assert "failproof.events" in first(result, ROWS_HIDDEN).message


def test_a_view_that_leaves_a_run_out_is_named(log: Attacked) -> None:
    begun = log.index(log.event("RunStarted", FAILED).position)
    replace_view(
        log,
        f"SELECT {COLUMNS.format(state='state')} FROM failproof.events "
        f"WHERE run_id IS DISTINCT FROM '{FAILED}'",
    )
    result = log.verify()
    assert {IN_BETWEEN, ROW_MISSING} <= found(result)
    assert first(result, ROW_MISSING).index == begun


def test_a_view_that_shows_another_content_is_named(log: Attacked) -> None:
    replace_view(
        log,
        "SELECT "
        + COLUMNS.format(state="CASE topic WHEN 'RunFailed' THEN '{}'::bytea ELSE state END")
        + " FROM failproof.events",
    )
    result = log.verify()
    assert first(result, ROW_CHANGED).stream_id == FAILED
    assert "failproof.stored_events" in first(result, IN_BETWEEN).message


def test_a_view_that_lies_to_everybody_but_the_auditor_is_named(log: Attacked) -> None:
    """All that the auditor sees is genuine: it is the view itself that gives it away."""
    replace_view(
        log,
        f"SELECT {COLUMNS.format(state='state')} FROM failproof.events "
        f"WHERE session_user = 'failproof_auditor' OR run_id IS DISTINCT FROM '{FAILED}'",
    )
    assert found(log.verify(outside=True)) == {IN_BETWEEN}


def test_window_a_view_that_lied_and_was_put_back_is_not_found(log: Attacked) -> None:
    plain = f"SELECT {COLUMNS.format(state='state')} FROM failproof.events"
    replace_view(log, f"{plain} WHERE run_id IS DISTINCT FROM '{FAILED}'")
    assert not log.verify().genuine
    replace_view(log, plain)
    assert log.verify(outside=True).genuine


def test_a_view_that_shows_the_log_as_it_was_while_another_table_is_used_is_named(
    log: Attacked,
) -> None:
    log.tamper(
        "CREATE TABLE failproof.genuine AS SELECT * FROM failproof.events",
        "GRANT SELECT ON failproof.genuine TO failproof_owner",
        "UPDATE failproof.events SET state = '{}' WHERE topic = 'RunFailed'",
        f"CREATE OR REPLACE VIEW failproof.stored_events AS "
        f"SELECT {COLUMNS.format(state='state')} FROM failproof.genuine",
    )
    assert found(log.verify(outside=True)) == {IN_BETWEEN}


def test_a_view_that_shows_no_checkpoints_is_named(log: Attacked) -> None:
    log.tamper(
        "CREATE OR REPLACE VIEW failproof.checkpoint_list AS SELECT checkpoint_id, tree_size, "
        "note, recorded_at, tree FROM failproof.ledger_checkpoints WHERE false"
    )
    assert "checkpoint_list" in first(log.verify(), IN_BETWEEN).message


def test_a_list_of_runs_without_the_failed_one_is_named(log: Attacked) -> None:
    log.tamper(
        "CREATE OR REPLACE VIEW failproof.run_list AS SELECT run_number, run_id "
        f"FROM failproof.run_numbers WHERE run_id <> '{FAILED}'"
    )
    assert {each.message.split()[0] for each in log.verify().findings} == {"the", "run"}
    assert "run_list" in first(log.verify(), IN_BETWEEN).message


def test_rows_added_by_a_child_table_are_named(log: Attacked) -> None:
    log.tamper(
        "CREATE TABLE public.child () INHERITS (failproof.events)",
        "GRANT SELECT ON public.child TO failproof_owner",
        "INSERT INTO public.child SELECT 3, gen_random_uuid(), 1, 'Scored', "
        f"convert_to('{{\"schema_version\":1,\"run_id\":\"{PASSED}\"}}', 'UTF8'), '{PASSED}', "
        "now(), sha256('none')",
    )
    result = log.verify()
    assert {IN_BETWEEN, ROW_ADDED} <= found(result)


# -- appends ---------------------------------------------------------------------------------------

TRIGGER = (
    "CREATE FUNCTION public.improve() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    "NEW.state := convert_to(replace(convert_from(NEW.state, 'UTF8'), '\"accuracy\":0.0', "
    "'\"accuracy\":1.0'), 'UTF8'); {more} RETURN NEW; END $$",
    "CREATE TRIGGER quiet BEFORE INSERT ON failproof.events "
    "FOR EACH ROW EXECUTE FUNCTION public.improve()",
)


def test_a_trigger_that_improves_what_is_appended_is_named(log: Attacked) -> None:
    """The writer said what the leaf is before the database had the event."""
    log.tamper(TRIGGER[0].format(more=""), TRIGGER[1])
    append(log)
    result = log.verify()
    assert {IN_BETWEEN, ROW_CHANGED} == found(result)
    assert first(result, ROW_CHANGED).index == log.recorded.sizes.all
    with log.engine() as store, store.connect() as connection, pytest.raises(LedgerBroken):
        integrate(connection)


def test_a_trigger_that_improves_the_leaf_hash_too_is_named_while_it_stands(log: Attacked) -> None:
    leaf = LEAF_OF
    for column in ("originator_id", "originator_version", "topic", "state"):
        leaf = leaf.replace(f"({column}", f"(NEW.{column}")
    log.tamper(TRIGGER[0].format(more=f"NEW.leaf_hash := {leaf};"), TRIGGER[1])
    append(log)
    result = log.verify()
    assert found(result) == {IN_BETWEEN}
    assert "the trigger quiet on failproof.events" in first(result, IN_BETWEEN).message
    with log.engine() as store, store.connect() as connection:
        sign_checkpoint(connection, log.recorded.key, None)
    log.tamper("DROP TRIGGER quiet ON failproof.events", "DROP FUNCTION public.improve")
    # The window: once it is gone again, the log holds what was never said, from its first hour.
    assert log.verify(outside=True).genuine


def test_a_rule_that_swallows_what_is_appended_is_refused_and_named(log: Attacked) -> None:
    log.tamper("CREATE RULE quiet AS ON INSERT TO failproof.events DO INSTEAD NOTHING")
    with pytest.raises(IncompleteAppend):
        append(log)
    assert "the rule quiet" in first(log.verify(), IN_BETWEEN).message


def test_a_rule_that_puts_what_is_appended_elsewhere_is_named(log: Attacked) -> None:
    """The writer is told that its rows are there."""
    log.tamper(
        "CREATE TABLE public.elsewhere (LIKE failproof.events)",
        "GRANT ALL ON public.elsewhere TO failproof_owner",
        "CREATE RULE quiet AS ON INSERT TO failproof.events DO INSTEAD INSERT INTO "
        "public.elsewhere SELECT 1, NEW.originator_id, 1, '', '', NULL, now(), sha256('') "
        "RETURNING *",
    )
    append(log)
    assert log.verify().events == log.recorded.sizes.all
    assert "the rule quiet" in first(log.verify(), IN_BETWEEN).message
    # The window: once the rule is gone, nothing in the log tells of what never reached it.
    log.tamper("DROP RULE quiet ON failproof.events")
    assert log.verify(outside=True).genuine


def test_an_append_function_that_improves_what_it_appends_is_named(log: Attacked) -> None:
    [(source,)] = log.fetch(
        "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname = 'append' "
        "AND pronamespace = 'failproof'::regnamespace"
    )
    better = FORGED.format("'\"accuracy\":0.0'", "'\"accuracy\":1.0'")
    selected = "SELECT originator_id, originator_version, topic, {}, run_id"
    changed = source.replace(selected.format("state"), selected.format(better))
    assert changed != source
    log.tamper(changed)
    append(log)
    result = log.verify()
    assert found(result) == {IN_BETWEEN, ROW_CHANGED}
    assert "the function failproof.append(" in first(result, IN_BETWEEN).message


def test_a_guard_that_refuses_nothing_any_more_is_named(log: Attacked) -> None:
    log.tamper(
        "CREATE OR REPLACE FUNCTION failproof.refuse_change() RETURNS trigger LANGUAGE plpgsql "
        "AS 'BEGIN IF TG_OP = ''DELETE'' THEN RETURN OLD; END IF; RETURN NEW; END'"
    )
    assert "refuse_change()" in first(log.verify(), IN_BETWEEN).message
