"""A judge is asked a probed question byte for byte as a run asks it."""

from __future__ import annotations

from typing import Any

from failproof_es.configuration.schema import Configuration
from failproof_es.core.evaluation import Evaluation, Send
from failproof_es.dialects import dialect_named
from failproof_es.dialects.judge_probe import JudgeProbe
from failproof_es.dialects.judge_probe.conversation import JudgedConversation
from failproof_es.engine.drive.targets import Targets
from failproof_es.engine.requests import Requests
from failproof_es.models.trust.permissions import OWN
from tests.every import every
from tests.unit.dialects.judge_probe.test_probes import CONVERSATIONS

JUDGE: dict[str, Any] = {
    "provider": "openai",
    "base_url": "http://127.0.0.1:9/v1",
    "api_key_env": None,
    "model": "judge",
    "structured_output": True,
}


def targets(**models: Any) -> Targets:
    document = {"test_run": {"name": "n"}, "prompts": {"path": "p"}, **models}
    return Targets(Configuration.model_validate(document), OWN)


@every("conversation", CONVERSATIONS)
def test_a_probed_question_is_sent_as_a_run_sends_it(conversation: JudgedConversation) -> None:
    case = conversation.judged_case
    question = conversation.question(dialect_named(case.dialect))
    assert question is not None
    of_run = targets(models=[{**JUDGE, "model": "m"}], judge=JUDGE)
    asking = Send("judge", len(conversation.replies), 1, question, judge="judge:judge")
    in_run = Requests(dialect_named(case.dialect), of_run.models, of_run.judges).prepare(
        Evaluation(replies=conversation.replies), case, asking, of_run.judges["judge:judge"]
    )
    unchanged = next(JudgeProbe().cases_of(conversation))
    probed = targets(models=[JUDGE])
    probing = Send("target", 0, 1, unchanged.turns)
    in_probe = Requests(dialect_named("judge_probe"), probed.models, {}).prepare(
        Evaluation(), unchanged, probing, probed.models["judge"]
    )
    assert in_probe == in_run and b'"json_schema"' in in_run.body
