"""Every query that a how-to page shows is one that an auditor's database takes as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest

from failproof_es.store.schema.installation import AUDITOR, WRITER
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize(
    "page",
    [
        "how-to/promptguard",
        "how-to/command-evaluation",
        "how-to/review",
        "how-to/projections",
        "how-to/monitoring",
    ],
)
def test_the_queries_of_a_page_are_taken_as_they_stand(
    page: str, store: Store, tmp_path: Path
) -> None:
    blocks = re.findall(r"```sql\n(.*?)\n```", (DOCS / f"{page}.md").read_text("utf-8"), re.S)
    queries = [query for block in blocks for query in block.split(";") if query.strip()]
    assert queries
    assert invoke(store.url, "projections", "rebuild", cwd=tmp_path).exit_code == 0
    auditor = store.url.replace(f"//{WRITER}@", f"//{AUDITOR}@")
    with psycopg.connect(auditor, autocommit=True) as connection:
        for query in queries:
            assert connection.execute(query.encode()).fetchall() == [], query
