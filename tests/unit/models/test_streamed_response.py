"""What a stream of the Responses API may hold before it is given up."""

from __future__ import annotations

import orjson
import pytest

from failproof_es.models.http_reply import InvalidReply
from failproof_es.models.providers.openai_responses import reply
from failproof_es.models.providers.openai_responses.reply import StreamedResponse


def test_a_stream_of_more_items_than_an_answer_can_have_is_given_up() -> None:
    done = {"type": "response.output_item.done", "item": {"type": "reasoning"}}
    piece = b"data: " + orjson.dumps(done) + b"\n\n"
    stream = StreamedResponse()
    for _ in range(reply._MOST_ITEMS):
        assert stream.feed(piece) == ""
    with pytest.raises(InvalidReply, match=f"more than {reply._MOST_ITEMS} items"):
        stream.feed(piece)
