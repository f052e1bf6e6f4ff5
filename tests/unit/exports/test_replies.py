"""An answer's text, its refusal and its tool calls stay apart where a format holds them."""

from __future__ import annotations

from failproof_es.core.transcript import ModelReply
from failproof_es.events import ToolCall
from failproof_es.exports.evaluated import arguments_of
from failproof_es.exports.every_eval_ever import _arguments
from failproof_es.exports.exact_json import LARGE
from failproof_es.exports.exporter import LeftOut
from failproof_es.exports.inspect_log import _answer
from tests.every import every

CALL = ToolCall(id=None, name="look", arguments='{"at": 1, "in": "x"}')
BROKEN = ToolCall(id="7", name="look", arguments="{")
LIST = ToolCall(id="8", name="look", arguments="[1]")


def test_arguments_are_an_object_or_what_was_written() -> None:
    assert arguments_of(CALL) == {"at": 1, "in": "x"}
    assert arguments_of(BROKEN) is None and arguments_of(LIST) is None
    assert _arguments(CALL, LeftOut()) == {"at": "1", "in": "x"}
    assert _arguments(BROKEN, LeftOut()) == {"": "{"}


@every(
    "arguments",
    ['{"a": 1, "a": 2}', '{"a": {"b": 1, "b": 1}}', '{"a": NaN}', '{"a": -Infinity}', "[" * 90_000],
)
def test_arguments_that_a_reader_of_json_would_change_are_no_object(arguments: str) -> None:
    call = ToolCall(id=None, name="look", arguments=arguments)
    assert arguments_of(call) is None
    assert _arguments(call, LeftOut()) == {"": arguments}


def test_a_large_integer_of_a_call_is_exact_or_counted() -> None:
    number = 2**70 + 1
    call = ToolCall(id=None, name="look", arguments=f'{{"at": {number}, "in": [{number}]}}')
    assert arguments_of(call) == {"at": number, "in": [number]}
    left_out = LeftOut()
    assert _arguments(call, left_out) == {"at": f'"{number}"', "in": f'["{number}"]'}
    assert [(row["left_out"], row["count"]) for row in left_out.rows()] == [(LARGE, 2)]


def test_inspect_gets_calls_and_a_refusal_as_what_they_are() -> None:
    said = _answer(ModelReply(0, "text", "tool_calls", tool_calls=(CALL, BROKEN)), "m")
    first, second = said["tool_calls"]
    assert said["content"] == "text" and first["id"] == "call-1" and first["function"] == "look"
    assert second["arguments"] == {} and "{" in second["parse_error"]
    declined = _answer(ModelReply(0, "", "stop", refusal="no"), "m")
    assert declined["content"] == [{"type": "text", "text": "no", "refusal": True}]
    assert _answer(ModelReply(0, "cut", "length"), "m")["content"] == "cut"
