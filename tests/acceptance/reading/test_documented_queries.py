"""Every query that a how-to page shows is one that an auditor's database takes as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg

from failproof_es.store.schema.installation import AUDITOR, WRITER
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke

DOCS = Path(__file__).parents[3] / "docs" / "how-to"


PAGES = ("promptguard", "command-evaluation", "review", "projections", "monitoring")


def test_the_queries_of_a_page_are_taken_as_they_stand(store: Store, tmp_path: Path) -> None:
    assert invoke(store.url, "projections", "rebuild", cwd=tmp_path).exit_code == 0
    auditor = store.url.replace(f"//{WRITER}@", f"//{AUDITOR}@")
    with psycopg.connect(auditor, autocommit=True) as connection:
        for page in PAGES:
            text = (DOCS / f"{page}.md").read_text("utf-8")
            blocks = re.findall(r"```sql\n(.*?)\n```", text, re.S)
            queries = [query for block in blocks for query in block.split(";") if query.strip()]
            assert queries, page
            for query in queries:
                assert connection.execute(query.encode()).fetchall() == [], query
