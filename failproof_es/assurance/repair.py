"""Repairs a damaged tree: builds a new one, records that, and keeps the old one.

The new tree is built from the log's rows. Each row is compared with the leaf that its writer
recorded: a changed event stops the repair. The new tree has an origin and a key of its own, so that
no checkpoint of the old tree is contradicted and no witness sees a fork. `LedgerRepaired` records
why, and from which position. Every later verification still compares the log with what was signed
over the old tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from uuid import uuid4

from failproof_es.assurance.checking.findings import Verification, VerificationFinding
from failproof_es.assurance.checking.old_tree import Leaves, check_tree
from failproof_es.assurance.checking.replaced_trees import (
    externally_kept,
    signed_in_database,
    stray_tiles,
)
from failproof_es.assurance.checking.verification import verify_log
from failproof_es.assurance.signing.kept_checkpoints import default_place, read_kept
from failproof_es.assurance.signing.signing_key import (
    create_key,
    key_path,
    log_key,
    own_file,
    own_public_key,
)
from failproof_es.assurance.tree_history import read_trees
from failproof_es.core.case import ledger_id
from failproof_es.events import LedgerFinding, LedgerRepaired
from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.ledger.handover import handover
from failproof_es.ledger.merkle import EMPTY_ROOT
from failproof_es.ledger.note import ED25519, PublicKey, SigningKey
from failproof_es.problems import InvalidInput
from failproof_es.store import ledger
from failproof_es.store.ledger import Connection, LogTree, checked_leaf
from failproof_es.store.reading.archives import archived_runs
from failproof_es.store.store import Store
from failproof_es.store.writing.appending import append_within
from failproof_es.store.writing.event_header import Draft, EventHeader


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a tree is replaced, and by whom."""

    text: str
    who: str
    where: str


def repair(
    store: Store,
    connection: Connection,
    reason: Reason,
    *,
    force: bool = False,
    without_old_key: bool = False,
) -> LedgerRepaired:
    """Record the repair and begin the new tree; signing the log then fills it.

    Raises `InvalidInput` without a reason, while runs are archived, when the tree needs no repair
    or a new one would not heal it (`force` overrides both), when the old key is not here (unless
    `without_old_key`), and when another repair was faster. Raises `LedgerBroken` at an event that
    is not what its writer recorded, and for a log without a name.
    """
    if not reason.text.strip():
        raise InvalidInput.because(
            "missing-option", "a repair needs a reason", remedy="say why with --reason"
        )
    if archived := archived_runs(connection):
        run_numbers = ", ".join(
            str(archive_event.run_number) for archive_event in archived.values()
        )
        raise InvalidInput.because(
            "run-archived",
            f"a new tree is built from the rows of the log, and run {run_numbers} is archived",
            remedy="attach archived runs first: `failproof-es verify` names their files",
        )
    ledger.origin(connection)  # a log without a name has no tree that an event could replace
    old = read_trees(connection).current
    old_key = _old_key(connection, old, without_old_key)
    public = own_public_key(old.origin) if old_key is None else old_key.public
    kept_checkpoint = None if public is None else read_kept(str(default_place(public.name)), public)
    trusted = [] if kept_checkpoint is None else [kept_checkpoint]
    verification = verify_log(connection, public, trusted)
    if verification.genuine and not force:
        raise InvalidInput.because(
            "nothing-to-repair",
            "the tree is intact: there is nothing to repair",
            remedy="--force begins a new tree anyway",
        )
    size, wrong = _check_old_tree(connection, old, public, trusted, verification)
    if wrong and not force:
        raise InvalidInput.because(
            "not-repairable",
            f"a new tree would not repair this log: {wrong[0].message} ({len(wrong)} such)",
            remedy="restore the log from a backup; --force begins a new tree anyway, and "
            "`verify` keeps reporting what was changed",
        )
    forced = verification.genuine or bool(wrong)
    new_origin = f"failproof-es/{uuid4()}"
    # The key is kept even if this fails: a commit may succeed although its reply is lost.
    new_key = create_key(own_file(new_origin, "key"), new_origin, ED25519)
    return _begin(
        store, connection, reason, old, old_key, public, new_key, size, verification, forced=forced
    )


def _old_key(connection: Connection, old: LogTree, without: bool) -> SigningKey | None:
    if without or (
        ledger.newest_checkpoint(connection) is None and not key_path(old.origin).exists()
    ):
        return None
    try:
        return log_key(old.origin)
    except InvalidInput as error:
        error.add_note(
            "the old key signs for the new tree. If it is lost, use --without-old-key. Then "
            "give the new public key directly to those who verify."
        )
        raise


def _check_old_tree(
    connection: Connection,
    old: LogTree,
    key: PublicKey | None,
    trusted: Sequence[Checkpoint],
    verification: Verification,
) -> tuple[int, list[VerificationFinding]]:
    """Number of events in the old tree, and the findings that verification will keep reporting."""
    log = Leaves()
    with closing(ledger.leaf_rows(connection)) as rows:
        for row in rows:
            log.add(row.position, checked_leaf(row))
    wrong: list[VerificationFinding] = []
    signed = [*signed_in_database(connection, old, key, []), *map(externally_kept, trusted)]
    no_tiles: list[str] = []
    tiles = ledger.leaf_tiles(connection, old.number, no_tiles.append)
    checked = check_tree(tiles, signed, log, wrong.append)
    wrong += stray_tiles(no_tiles, verification.findings, old.origin)
    return checked.events, wrong


def _begin(
    store: Store,
    connection: Connection,
    reason: Reason,
    old: LogTree,
    old_key: SigningKey | None,
    public: PublicKey | None,
    new_key: SigningKey,
    size: int,
    verification: Verification,
    *,
    forced: bool,
) -> LedgerRepaired:
    with connection.transaction():
        ledger.lock(connection)
        if ledger.trees(connection)[-1] != old:
            raise InvalidInput.because(
                "already-repaired",
                "another repair began a new tree meanwhile: this one began none",
                remedy="run `failproof-es verify`",
            )
        newest = ledger.newest_checkpoint(connection)
        draft = Draft(
            LedgerRepaired,
            EventHeader(ledger_id(), None),
            reason=reason.text,
            who=reason.who,
            where=reason.where,
            old_origin=old.origin,
            old_key=None if public is None else str(public),
            old_tree_size=size,
            old_checkpoint=None if newest is None else newest.note,
            new_origin=new_key.name,
            new_key=str(new_key.public),
            handover=None if old_key is None else str(handover(old_key, new_key.public)),
            forced=forced,
            findings=tuple(
                LedgerFinding(
                    kind=finding.kind,
                    message=finding.message,
                    index=finding.index,
                    position=finding.position,
                )
                for finding in verification.findings
            ),
            more_findings=verification.more,
        )
        [event] = append_within(store, connection, [draft])
        assert isinstance(event, LedgerRepaired)
        ledger.begin_tree(connection, ledger_id(), event.originator_version)
        # Signed while it is empty, so that no other user makes a second key for this log.
        empty = Checkpoint(new_key.name, 0, EMPTY_ROOT).signed(new_key)
        ledger.add_checkpoint(connection, 0, str(empty))
    return event
