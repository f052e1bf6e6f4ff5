"""Which versions are the same is one rule, in Python and in SQL."""

from __future__ import annotations

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from failproof_es.core.pairing import graded_alike
from failproof_es.reading.overviews.pair_statements import OTHER_VERSIONS
from failproof_es.store.store import Store
from tests.examples import examples

ASKED = f"""
SELECT ({OTHER_VERSIONS}) IS TRUE
FROM (SELECT %s::json AS graded_by) AS e, (SELECT %s::json AS graded_by) AS f
"""
parts = st.sampled_from(["1", "2", "x-1", '"', "\\", "\x00", "ü", "extractor"])
versions = st.lists(parts, min_size=1, max_size=4).map(" ".join)
graded = st.dictionaries(st.sampled_from(["a", "b", '"', "\x00"]), versions, max_size=3)


def test_sql_and_python_agree_which_versions_graded_alike(store: Store) -> None:
    with store.connect() as connection:

        @settings(max_examples=examples(4), deadline=None)
        @given(graded, graded)
        def agree(one: dict[str, str], other: dict[str, str]) -> None:
            values = [orjson.dumps(each).decode() if each else None for each in (one, other)]
            row = connection.execute(ASKED.encode(), values).fetchone()
            assert row == (not graded_alike(one, other),)

        agree()
