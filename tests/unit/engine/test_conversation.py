"""A conversation as people see it: every turn is the model's, or the case's script."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from failproof_es.configuration.choices import PromptTemplate
from failproof_es.core.case import Case, Role, Turn
from failproof_es.core.evaluation import Evaluation, ModelReply
from failproof_es.dialects.shipped.redteam import RedTeam
from failproof_es.dialects.shipped.redteam.conversation import asked_turns, spoken
from failproof_es.engine.reviews.conversation import conversation
from tests.every import every

ROLES: tuple[Role, ...] = ("user", "assistant", "system")


@given(st.lists(st.sampled_from(ROLES), min_size=1, max_size=8), st.integers(0, 8))
def test_no_scripted_turn_is_shown_as_the_models_and_none_of_the_models_as_scripted(
    roles: list[Role], answered: int
) -> None:
    turns = tuple(Turn(role=role, content=f"turn {n}") for n, role in enumerate(roles))
    replies = tuple(
        ModelReply(turn=n, text=f"reply {n}", finish_reason="stop")
        for n in range(min(answered, len(asked_turns(roles))))
    )
    case = Case(dialect="redteam", case_id="c", suite_id="s", turns=turns)
    told = conversation(RedTeam(), case, Evaluation(replies=replies))
    assert [turn.text for turn in told if not turn.scripted] == [reply.text for reply in replies]
    assert all(turn.text.startswith("turn") for turn in told if turn.scripted)
    wanted = [(each.turn.content, each.reply is None) for each in spoken(turns, replies)]
    assert [(turn.text, turn.scripted) for turn in told] == wanted[: len(told)]


def test_words_of_the_model_that_a_case_scripts_too_stay_apart() -> None:
    turns = tuple(
        Turn(role=role, content=text)
        for role, text in (("user", "a"), ("assistant", "yes"), ("user", "b"), ("user", "c"))
    )
    replies = tuple(ModelReply(turn=n, text="yes", finish_reason="stop") for n in range(2))
    case = Case(dialect="redteam", case_id="c", suite_id="s", turns=turns)
    told = conversation(RedTeam(), case, Evaluation(replies=replies))
    assert [turn.speaker for turn in told] == [
        "user", "scripted assistant", "user", "model under test (turn 4)",
        "user", "model under test (turn 6)",
    ]  # fmt: skip


@every(
    ("system", "texts", "numbers"),
    [
        (None, ["<a>", "yes", "<b>"], [1, 2, 3]),
        ("Be brief.", ["Be brief.", "<a>", "yes", "<b>"], [None, 1, 2, 3]),
    ],
)
def test_the_conversation_is_what_was_sent_in_the_template_of_its_model(
    system: str | None, texts: list[str], numbers: list[int | None]
) -> None:
    turns = tuple(Turn(role="user", content=text) for text in ("a", "b"))
    reply = ModelReply(turn=0, text="yes", finish_reason="stop")
    case = Case(dialect="redteam", case_id="c", suite_id="s", turns=turns)
    template = PromptTemplate(system=system, user="<{prompt}>")
    sent = conversation(RedTeam(), case, Evaluation(replies=(reply, reply)), template)
    assert [turn.text for turn in sent] == [*texts, "yes"]
    assert [turn.number for turn in sent] == [*numbers, 4], "as judges count the case's turns"
    assert [turn.speaker for turn in sent][-2:] == ["user", "model under test (turn 4)"]
