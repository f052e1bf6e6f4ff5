"""`replay --as-of` says which tree its answer rests on, under the auditor role, too."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import psycopg
import pytest

from failproof_es.assurance.signing.integrator import integrate
from failproof_es.ledger.merkle import Frontier
from failproof_es.store import ledger
from failproof_es.store.schema.installation import AUDITOR, WRITER
from tests.acceptance.commands import invoke
from tests.acceptance.conftest import RecordedLog
from tests.conftest import as_administrator


def as_auditor(url: str) -> str:
    return url.replace("//postgres@", f"//{AUDITOR}@").replace(f"//{WRITER}@", f"//{AUDITOR}@")


@pytest.mark.parametrize("position", [10, 15])
def test_an_answer_about_the_past_names_its_tree(
    recorded_log: RecordedLog, position: int, tmp_path: Path
) -> None:
    with psycopg.connect(as_administrator(recorded_log.url), autocommit=True) as connection:
        integrate(connection)
        leaves = [row.leaf_hash or b"" for row in ledger.leaf_rows(connection, up_to=position)]
    tree = Frontier()
    tree.extend(leaves)
    root = base64.b64encode(tree.root()).decode()

    asked = ("replay", "1", "--as-of", position)
    table = invoke(as_auditor(recorded_log.url), *asked, cwd=tmp_path)
    assert f"tree as of position {position}: size {len(leaves)}, root {root}" in table.stderr
    answer = json.loads(invoke(as_auditor(recorded_log.url), *asked, "--json", cwd=tmp_path).stdout)
    assert (answer["tree_size"], answer["tree_root"]) == (len(leaves), root)
