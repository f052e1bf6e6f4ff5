"""JSON that would take more memory than any answer does is refused before it is parsed."""

from __future__ import annotations

import orjson
import pytest

from failproof_es.web.bounded_json import JsonTooComplex, read_json
from tests.every import every

MIB = 2**20


@every("unit", ["{}", "[]", '{"":0}', "[0]", '"ab"', "1", '{"a":[{}]}'])
@pytest.mark.long
def test_many_small_values_are_refused(unit: str) -> None:
    with pytest.raises(JsonTooComplex, match="more than 96 MiB of memory"):
        read_json("[" + f"{unit}," * (12 * MIB // len(unit)) + "0]")


@every("text", ["{[,:]}", '\\"{[', "\\\\", '\\\\\\"[,', "é{", "a"])
@every("before", range(3))
@pytest.mark.long
def test_what_looks_like_structure_within_a_text_is_text(text: str, before: int) -> None:
    document = '{"a":["' + "x" * before + text * (6 * MIB // len(text)) + '"]}'
    assert read_json(document) == orjson.loads(document)


def test_the_likeliest_tokens_of_a_long_answer_are_read() -> None:
    token = {"token": " the", "logprob": -0.125, "bytes": [32, 116, 104, 101]}
    content = [{**token, "top_logprobs": [token] * 20} for _ in range(2_000)]
    document = orjson.dumps({"choices": [{"logprobs": {"content": content}}]})
    assert len(document) > 2 * MIB
    assert read_json(document)["choices"]


@every("text", ["", "{", "nul", b"\xff", "\ud800", "[" * 10**6])
def test_what_is_no_json_is_a_value_error(text: str | bytes) -> None:
    with pytest.raises(ValueError):
        read_json(text)
