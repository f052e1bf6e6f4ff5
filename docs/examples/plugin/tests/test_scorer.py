"""The scorer is put through the contract."""

from failproof_es.testing.scorer_contract import SampleAnswer, ScorerContract


class TestTerseness(ScorerContract):
    scorer = "terseness"
    options = {"most": 4}
    refused = ({"most": 0}, {"most": "4"}, {"most": 4, "least": 1})
    answers = (
        SampleAnswer("A", {"terseness": 0.75}),
        SampleAnswer("much too long", {"terseness": 0.0}),
    )
