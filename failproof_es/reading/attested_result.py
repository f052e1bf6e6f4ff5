"""The result of a run's gates as an in-toto attestation."""

from __future__ import annotations

from failproof_es.ledger.attestation import bundle_of, statement
from failproof_es.ledger.note import SigningKey
from failproof_es.problems import InvalidInput
from failproof_es.reading.recorded_run import RecordedRun


def attest_gates(run: RecordedRun, seal: str, key: SigningKey) -> bytes:
    """The `test-result` of the run, signed by the log's key: each gate is a test.

    Its subjects are the run, by its `seal` (in hexadecimal, as its evidence file has it), and the
    files of its cases; its configuration is the run's. Raises `InvalidInput` for a run that did not
    complete, or whose gates are none or not all decided.
    """
    if run.run.status != "completed" or run.awaits_closing or not run.gates:
        raise InvalidInput.because(
            "no-result",
            "the run has no gates that decide whether it passed, or they are not decided yet",
            remedy="write gates: into its configuration; `failproof-es show RUN` says what it "
            "waits for",
        )
    started = run.started
    subjects = {f"run {run.run_id}": seal}
    subjects |= {f"cases {suite.path}": suite.sha256 for suite in started.suites}
    configuration = {f"configuration of {started.name}": started.configuration_digest}
    tests = {name: bool(gate["met"]) for name, gate in run.gates.items()}
    return bundle_of(statement(subjects, configuration, tests), key)
