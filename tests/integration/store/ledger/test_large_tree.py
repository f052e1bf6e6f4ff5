"""One log of 70,000 events, written and signed in steps, beyond every boundary of its tiles.

Tiles of 256 are full at each 256 events, tiles of tiles at each 65,536, and the integrator takes
50,000 events at a time. The steps are small where the first tiles fill and around 65,536, and
larger in between. What is read here is held to the definition of the tree.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from failproof_es.assurance.checking.findings import (
    ROW_CHANGED,
    TREE_CHANGED,
    TREE_GOES_BACK,
    VerificationFinding,
    VerifiedPrefix,
)
from failproof_es.assurance.checking.verification import verify_log
from failproof_es.assurance.run_evidence import evidence_lines
from failproof_es.assurance.signing.integrator import LedgerBroken, integrate, sign_checkpoint
from failproof_es.assurance.signing.kept_checkpoints import check_continues
from failproof_es.assurance.signing.witness import CosignRequest, cosign_request
from failproof_es.assurance.tree import read_edge, stored_tree
from failproof_es.assurance.tree_as_of import TreeAsOf, tree_as_of
from failproof_es.events import RunCompleted
from failproof_es.ledger import bundle, edge, merkle, note
from failproof_es.ledger import checkpoint as checkpoints
from failproof_es.ledger.merkle import Frontier
from failproof_es.ledger.note import COSIGNATURE, SigningKey
from failproof_es.ledger.tlog_policy import Policy
from failproof_es.store import ledger
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.schema.installation import WRITER
from failproof_es.store.store import Store
from tests.acceptance.attacks.statements import LEAF_OF
from tests.acceptance.attacks.world import CASES, FAILED, PASSED, Author, begin, cases
from tests.conftest import as_administrator, create_database, database_url_as, drop_database
from tests.integration.store.ledger.test_ledger import leaf_data
from tests.unit.ledger import naive
from tests.unit.ledger.bundle.test_bundle import second_verifier

pytestmark = pytest.mark.wide

EVENTS = 70_000
BOUNDARY = 65_536
EXACTLY = (255, 256, 257, 511, 512, 513, 65_791, 65_792, 65_793)
"""Sizes at which a step ends, whatever its length would be. 65,536 comes in the middle of a run."""
SMALL, LARGE = (60, 140), (1_000, 3_000)
"""Events of a step: at least and at most."""
SMALL_STEPS = (range(4_000), range(BOUNDARY - 1_000, BOUNDARY + 1_000))
"""Sizes at which the steps are small: tiles fill in the middle of one, at its end, and in none."""


def write(administrator: psycopg.Connection[Any], events: int) -> None:
    """Append events by one statement, each with the leaf that its writer would compute."""
    administrator.execute(
        "INSERT INTO failproof.events (originator_id, originator_version, topic, state, leaf_hash) "
        f"SELECT originator_id, originator_version, topic, state, {LEAF_OF} FROM ("
        "SELECT gen_random_uuid() AS originator_id, 1::bigint AS originator_version, "
        "'Scored'::text AS topic, "
        "convert_to('{\"schema_version\":1,\"run_id\":null}', 'UTF8') AS state "
        "FROM generate_series(1, %b)) AS new".encode(),
        (events,),
    )


@dataclass
class Large:
    """The log, and what verifying it at each step of its growth came to."""

    store: Store
    administrator: psycopg.Connection[Any]
    connection: psycopg.Connection[Any]
    key: SigningKey
    size: int = 0
    steps: dict[int, list[VerificationFinding]] = field(default_factory=dict)
    """Findings by the size that was signed."""
    whole: set[int] = field(default_factory=set)
    """Sizes at which every event was read, not only those behind the last verification."""
    verified: dict[int, VerifiedPrefix] = field(default_factory=dict)
    before: VerifiedPrefix | None = None

    def fill(self, size: int) -> None:
        """Write and sign steps up to that size."""
        steps = random.Random(12)
        self.size = ledger.count_events(self.connection)
        while self.size < size:
            small = any(self.size in sizes for sizes in SMALL_STEPS)
            begins = [sizes.start for sizes in SMALL_STEPS]
            stops = [at for at in (*EXACTLY, *begins, size) if at > self.size]
            step = min(self.size + steps.randint(*(SMALL if small else LARGE)), *stops) - self.size
            write(self.administrator, step)
            self.signed()

    def signed(self) -> None:
        """Sign what is there and verify it: what came since the step before.

        Near the boundaries, and at every twentieth step, everything at once.
        """
        sign_checkpoint(self.connection, self.key, None)
        self.size = ledger.count_events(self.connection)
        near = abs(self.size - BOUNDARY) < 300 or self.size in EXACTLY or not len(self.steps) % 20
        before = None if near else self.before
        result = verify_log(self.connection, self.key.public, (), before)
        read = self.size - (before.size if before else 0)
        assert result.events == read
        assert result.tree_size == self.size
        self.steps[self.size] = result.findings
        if near:
            self.whole.add(self.size)
        if result.verified is not None:
            self.before = self.verified[self.size] = result.verified


@pytest.fixture(scope="module")
def large(postgres_server: EmbeddedServer, migrated_database: str) -> Iterator[Large]:
    """The log: filler, and two runs of which the second one lies across 65,536 events."""
    name = f"large_{uuid4().hex}"
    create_database(postgres_server, name, migrated_database)
    url = database_url_as(postgres_server, name, WRITER)
    with (
        pytest.MonkeyPatch.context() as patched,
        Store(url) as store,
        store.connect() as connection,
        psycopg.connect(as_administrator(url), autocommit=True) as administrator,
    ):
        # The edge reads the same full tiles at every step: what they hash to is computed once.
        remembered = lru_cache(100_000)(merkle.perfect_root)
        patched.setattr(edge, "perfect_root", lambda hashes: remembered(tuple(hashes)))
        key = SigningKey.generate(ledger.origin(connection))
        log = Large(store, administrator, connection, key)
        write_all(log)
        yield log
    drop_database(postgres_server, name)


def write_all(log: Large) -> None:
    author, asked = Author(log.store, log.key), cases("asked")
    log.fill(BOUNDARY - 400)
    begin(author)
    log.signed()
    author.start(PASSED, "across the boundary", "c0", asked)
    log.fill(BOUNDARY - 4 * (CASES // 2))
    for number, case in enumerate(asked, 1):
        author.evaluate(PASSED, [case], 1.0)
        if abs(number - CASES // 2) < 3:
            author.flush()
            log.signed()
    author.end(PASSED, RunCompleted, 1.0)
    author.flush()
    log.signed()
    log.fill(EVENTS)


@pytest.fixture(scope="module")
def rows(large: Large) -> list[ledger.LeafRow]:
    return list(ledger.leaf_rows(large.connection))


@pytest.fixture(scope="module")
def roots(rows: list[ledger.LeafRow]) -> list[bytes]:
    """The root of every size, by growing a tree in memory without any tile."""
    tree, found = Frontier(), []
    for row in rows:
        found.append(tree.root())
        tree.append(row.leaf_hash or b"")
    return [*found, tree.root()]


# -- it grew ---------------------------------------------------------------------------------


def test_a_log_of_70000_events_written_in_signed_steps_verifies_at_each_step(
    large: Large,
) -> None:
    """At each step what came since the one before, near 65,536 and at the end everything."""
    assert large.size == EVENTS
    for sizes in SMALL_STEPS:
        assert sum(size in sizes for size in large.steps) > len(sizes) // 120
    assert len(large.steps) > 75
    assert {*EXACTLY, BOUNDARY, BOUNDARY - 4, BOUNDARY + 4} <= large.steps.keys()
    assert BOUNDARY in large.whole
    assert len(large.whole) > 7
    assert {size: found for size, found in large.steps.items() if found} == {}
    result = verify_log(large.connection, large.key.public)
    assert (result.findings, result.events, result.signed_size) == ([], EVENTS, EVENTS)
    assert len(ledger.checkpoints(large.connection)) == len(large.steps)


def test_the_signed_roots_are_those_of_a_tree_without_tiles(
    large: Large, roots: list[bytes]
) -> None:
    for stored in ledger.checkpoints(large.connection):
        checkpoint = checkpoints.parse(note.parse(stored.note).text)
        assert checkpoint.root == roots[checkpoint.size]


def test_verifying_goes_on_from_every_step_near_a_boundary(
    large: Large, roots: list[bytes]
) -> None:
    for size, before in large.verified.items():
        if abs(size - BOUNDARY) < 300:
            result = verify_log(large.connection, large.key.public, (), before)
            assert (result.findings, result.root) == ([], roots[-1])
            assert before.size == size // 256 * 256
            assert result.events == EVENTS - before.size


# -- proofs ------------------------------------------------------------------------------------

SIZES = (1, 255, 256, 257, 512, 65_280, 65_535, 65_536, 65_537, 65_791, 65_792, 65_793, 70_000)


def test_proofs_at_and_past_the_boundaries_are_those_of_the_definition(
    large: Large, rows: list[ledger.LeafRow]
) -> None:
    data = [leaf_data(row) for row in rows]
    subtree = stored_tree(large.connection).subtree
    for old, new in ((65_280, 65_535), (256, 65_536), (65_535, 65_537), (65_536, 65_793)):
        path = naive.consistency_path(old, data[:new])
        assert merkle.consistency_proof(subtree, old, new) == path
    for index, size in ((0, 65_536), (65_535, 65_536), (65_536, 65_537), (255, 65_793)):
        path = naive.inclusion_path(index, data[:size])
        assert merkle.inclusion_proof(subtree, index, size) == path


def test_every_size_around_the_boundaries_continues_every_smaller_one(
    large: Large, roots: list[bytes]
) -> None:
    subtree = stored_tree(large.connection).subtree
    for new in SIZES:
        assert merkle.tree_root(subtree, new) == roots[new]
        for old in (each for each in SIZES if each < new):
            proof = merkle.consistency_proof(subtree, old, new)
            merkle.verify_consistency(old, roots[old], new, roots[new], proof)


def test_leaves_on_both_sides_of_the_boundaries_are_proven_at_once(
    large: Large, rows: list[ledger.LeafRow], roots: list[bytes]
) -> None:
    subtree = stored_tree(large.connection).subtree
    for size in SIZES:
        chosen = [each for each in (0, 255, 256, 65_279, 65_535, 65_536, 69_999) if each < size]
        leaves = [rows[each].leaf_hash or b"" for each in chosen]
        proof = merkle.multiproof(subtree, chosen, size)
        assert merkle.root_from_multiproof(chosen, leaves, size, proof) == roots[size]


def test_the_tree_as_of_a_position_is_found_on_both_sides_of_the_boundaries(
    large: Large, rows: list[ledger.LeafRow], roots: list[bytes]
) -> None:
    for size in SIZES:
        found = tree_as_of(large.connection, rows[size - 1].position)
        assert found == TreeAsOf(size, roots[size])


def test_the_newest_tree_continues_every_checkpoint_that_was_signed(large: Large) -> None:
    stored = ledger.checkpoints(large.connection)
    opened = [checkpoints.parse(note.parse(each.note).text) for each in stored]
    for old in [*opened[::5], *(each for each in opened if abs(each.size - BOUNDARY) < 300)]:
        check_continues(large.connection, old, opened[-1])


def test_a_witness_cosigns_from_step_to_step_across_the_boundary(large: Large) -> None:
    own, seen = SigningKey.generate("witness.example", COSIGNATURE), None
    subtree = stored_tree(large.connection).subtree
    for stored in ledger.checkpoints(large.connection):
        if abs(stored.tree_size - BOUNDARY) > 300:
            continue
        signed = note.parse(stored.note)
        old = seen.size if seen else 0
        proof = merkle.consistency_proof(subtree, old, stored.tree_size) if old else []
        request = CosignRequest(old, tuple(proof), signed)
        cosign_request(request, large.key.public, own, seen, 1_700_000_000)
        seen = checkpoints.opened(signed, large.key.public)
    assert seen is not None
    assert seen.size > BOUNDARY


@pytest.mark.parametrize("run", [FAILED, PASSED])
def test_a_run_across_the_boundary_is_proven_by_its_evidence_to_both_verifiers(
    large: Large, run: UUID
) -> None:
    data = b"".join(evidence_lines(large.connection, run))
    verdict = bundle.verify(bundle.read(data), Policy.of(large.key.public))
    assert verdict.checkpoint.size == EVENTS
    indices = [event.index for event in bundle.read(data).events]
    assert run != PASSED or min(indices) < BOUNDARY - 4 < BOUNDARY + 4 < max(indices)
    second_verifier().verify(data, str(large.key.public), [])


# -- what is changed behind the boundary -------------------------------------------------------


@pytest.fixture
def tampered(large: Large) -> Iterator[psycopg.Connection[Any]]:
    """A superuser who took the guards of the tiles down, in a transaction that is taken back."""
    with large.administrator.transaction(force_rollback=True):
        large.administrator.execute("SET LOCAL event_triggers = off")
        large.administrator.execute("ALTER TABLE failproof.ledger_tiles DISABLE TRIGGER USER")
        yield large.administrator


EDITED = "UPDATE failproof.ledger_tiles SET hashes = overlay(hashes placing sha256('') from 1) "


def test_a_tile_edited_on_any_level_of_a_large_tree_is_named(
    large: Large, tampered: psycopg.Connection[Any]
) -> None:
    for level, tile, index in ((1, 0, 0), (1, 1, BOUNDARY), (2, 0, 0)):
        with tampered.transaction(force_rollback=True):
            tampered.execute(f"{EDITED} WHERE level = {level} AND tile = {tile}".encode())
            found = verify_log(tampered, large.key.public).findings
            assert [(each.kind, each.index) for each in found] == [(TREE_CHANGED, index)]
            write(tampered, 1)
            if level == 1:
                with pytest.raises(LedgerBroken, match="does not continue"):
                    sign_checkpoint(tampered, large.key, None)


def test_a_full_tile_that_is_missing_above_the_leaves_is_named_and_not_signed_over(
    large: Large, tampered: psycopg.Connection[Any]
) -> None:
    tampered.execute("DELETE FROM failproof.ledger_tiles WHERE level = 1 AND width = 256")
    [found] = verify_log(tampered, large.key.public).findings
    assert (found.kind, found.index) == (TREE_CHANGED, 0)
    assert "tile 0 of level 1 is missing" in found.message
    with pytest.raises(LedgerBroken, match="full tiles 0 to 0 of level 1"):
        integrate(tampered)


def test_a_leaf_edited_in_a_tile_far_behind_the_edge_is_named_and_never_signed(
    large: Large, tampered: psycopg.Connection[Any], roots: list[bytes]
) -> None:
    """It is not read any more when the tree goes on: what is signed is the tree that was."""
    tampered.execute(f"{EDITED} WHERE level = 0 AND tile = 3".encode())
    assert read_edge(tampered).root() == roots[-1]
    found = verify_log(tampered, large.key.public).findings
    assert found[0].kind == ROW_CHANGED
    assert found[0].index == 3 * 256


def test_every_tile_of_a_large_tree_deleted_loses_nothing(
    large: Large, tampered: psycopg.Connection[Any], roots: list[bytes]
) -> None:
    """They are made again, in more than one batch, and are what they were."""
    tampered.execute("DELETE FROM failproof.ledger_tiles")
    assert verify_log(tampered, large.key.public).genuine
    integrate(tampered)
    write(tampered, 1)
    sign_checkpoint(tampered, large.key, None)
    result = verify_log(tampered, large.key.public)
    assert (result.findings, result.tree_size) == ([], EVENTS + 1)
    assert merkle.tree_root(stored_tree(tampered).subtree, EVENTS) == roots[-1]


def test_the_leaves_of_a_large_tree_deleted_and_nothing_above_them_are_made_again(
    large: Large, tampered: psycopg.Connection[Any]
) -> None:
    """The tiles above must not make the tree begin again behind what they stand for."""
    tampered.execute("DELETE FROM failproof.ledger_tiles WHERE level = 0 AND tile > 10")
    write(tampered, 1)
    sign_checkpoint(tampered, large.key, None)
    result = verify_log(tampered, large.key.public)
    assert (result.findings, result.tree_size) == ([], EVENTS + 1)


def test_a_tree_that_holds_the_log_twice_is_named_and_not_gone_on_with(
    large: Large, tampered: psycopg.Connection[Any]
) -> None:
    """As versions before this one made it when they signed just past 65,536 events."""
    tampered.execute("DELETE FROM failproof.ledger_tiles WHERE level = 0 AND tile > 255")
    tampered.execute(
        "INSERT INTO failproof.ledger_tiles (level, tile, width, hashes, positions) "
        "SELECT 0, tile + 256, width, hashes, positions FROM failproof.ledger_tiles "
        "WHERE level = 0 AND tile < 10 AND width = 256"
    )
    found = verify_log(tampered, large.key.public).findings[0]
    assert (found.kind, found.index, found.position) == (TREE_GOES_BACK, BOUNDARY, 1)
    with pytest.raises(LedgerBroken, match="it holds some events twice"):
        sign_checkpoint(tampered, large.key, None)
