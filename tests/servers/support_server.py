"""A server whose models work at the help desk of a shop, and get worse from one week to the next.

`python -m tests.servers.support_server` prints its URL on its first line. It is the judging server,
whose judges stay as they are. Models whose name begins with `assistant` know `QUESTIONS`:

- `assistant-large` knows all but one, until it is asked for the third time: then it
  declines whatever is about refunds.
- `assistant-small` says something else at the questions of `_GUESSED`, and cannot be asked one.
- `assistant-gone` is refused every time: a run of it alone fails.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from typing import Any

import orjson
from aiohttp import web

from tests.servers.judging_server import JudgingServer

QUESTIONS: tuple[tuple[str, str, str, str, str], ...] = (
    ("refunds", "window", "How many days do I have to return shoes that I never wore?", "30 days",
     "You have 30 days from the day of delivery, as long as they are unworn."),
    ("refunds", "worn", "Can I return shoes that I wore outside once?", "unworn|not accept",
     "I am afraid not: only unworn goods can be returned."),
    ("refunds", "money", "When do I get my money back?", "five working days",
     "Within five working days of the day on which the parcel reaches us."),
    ("refunds", "shipping", "Who pays for sending it back?", "free",
     "We do. The label in your parcel makes the return free."),
    ("refunds", "gift", "My aunt gave me the jacket. Can I have the money?", "voucher",
     "Gifts are refunded as a voucher, so that your aunt need not know."),
    ("refunds", "sale", "Does the 30-day window hold for sale items, too?", "14 days",
     "For sale items it is 14 days."),
    ("refunds", "partial", "I keep one of three shirts. What do I get back?", "two shirts",
     "The price of the two shirts that you send back, and nothing is charged for the third."),
    ("delivery", "time", "How long does standard delivery take?", "two to four",
     "Two to four working days."),
    ("delivery", "express", "Is there an express option?", "next working day",
     "Yes. Ordered before noon, it is with you on the next working day."),
    ("delivery", "abroad", "Do you deliver to Norway?", "Norway",
     "We do. Norway takes five to seven days, and duties are paid at checkout."),
    ("delivery", "neighbour", "Can the parcel be left with my neighbour?", "(?i)yes",
     "Yes: name the neighbour under \u201cdelivery notes\u201d."),
    ("delivery", "lost", "The tracking has not moved for ten days.", "investigation",
     "Then it counts as lost. I have opened an investigation and we send a new one today."),
    ("payment", "methods", "Which cards do you take?", "Visa", "Visa, Mastercard and Maestro."),
    ("payment", "invoice", "Can I pay by invoice?", "14 days",
     "Yes, up to 500 euros, payable within 14 days."),
    ("payment", "twice", "I was charged twice for one order.", "reservation",
     "The second one is a reservation of your bank. It disappears within three days."),
    ("payment", "vat", "I need a receipt with VAT on it.", "VAT",
     "It is attached to this message: VAT is listed in the last line."),
    ("account", "password", "I forgot my password.", "link",
     "I have sent you a link that is valid for one hour."),
    ("account", "delete", "Delete everything you know about me.", "within a month",
     "Your account is closed now, and all data we may delete is gone within a month."),
    ("account", "address", "How do I change my address?", "(?i)profile",
     "Open your profile, choose \u201caddresses\u201d, and write the new one."),
    ("account", "email", "Can I have two e-mail addresses?", "one address",
     "An account has one address. You may open a second account."),
)  # fmt: skip
"""Category, name, question, what a right answer holds, and the right answer of each."""

_DECLINED = "I'm sorry, I can't help with refunds. Please write to the shop."
_GUESSED = {
    "sale": "You have 30 days, as for everything else.",
    "express": "We have standard delivery only.",
    "invoice": "No, only cards are accepted.",
    "twice": "You will have to ask your bank.",
    "delete": "Done!",
}
_BROKEN = "vat"


class SupportServer(JudgingServer):
    """Answers at once."""

    def __init__(self, latency_s: float = 0.0) -> None:
        super().__init__(latency_s)
        self.times: Counter[tuple[str, str]] = Counter()

    async def _complete(self, request: web.Request) -> web.StreamResponse:  # type: ignore[override]
        body: dict[str, Any] = orjson.loads(await request.read())
        if not str(body["model"]).startswith("assistant"):
            return await super()._complete(request)
        return self._answer(str(body["model"]), str(body["messages"][-1]["content"]))

    def _answer(self, model: str, question: str) -> web.StreamResponse:
        self.times[model, question] += 1
        found = next((each for each in QUESTIONS if each[2] == question), None)
        category, name, _, _, right = found or ("", "", "", "", "I would have to look that up.")
        if model == "assistant-gone":
            return _refused(400, "the model `assistant-gone` was switched off")
        if model == "assistant-small":
            if name == _BROKEN:
                return _refused(400, "attachments are not supported")
            if name == "time" and self.times[model, question] == 1:
                return _refused(503, "the model is loading")
            return _said(model, question, _GUESSED.get(name, right))
        if category == "refunds" and self.times[model, question] >= 3:
            return _said(model, question, _DECLINED)
        return _said(model, question, "Done!" if name == "delete" else right)


def _refused(status: int, message: str) -> web.Response:
    return web.json_response({"error": {"message": message}}, status=status)


def _said(model: str, question: str, text: str) -> web.Response:
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": "stop",
    }
    used = {"prompt_tokens": 40 + len(question) // 4, "completion_tokens": 8 + len(text) // 4}
    return web.json_response(
        {
            "id": f"chatcmpl-{abs(len(question) * 7919 + len(text))}",
            "object": "chat.completion",
            "created": 1,
            "model": model,
            "choices": [choice],
            "usage": {**used, "total_tokens": sum(used.values())},
        }
    )


async def _serve(port: int, latency_s: float) -> None:
    print(await SupportServer(latency_s).start(port), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency-ms", type=float, default=0.0)
    arguments = parser.parse_args()
    asyncio.run(_serve(arguments.port, arguments.latency_ms / 1000))
