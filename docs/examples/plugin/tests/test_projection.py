"""The projection is put through the contract, in a database of its own."""

from failproof_es.testing.projection_contract import ProjectionContract

LINE = (
    '{"quiz": "q", "question_id": "a", "question": "What is 2 + 2, the sum of them?", '
    '"choices": ["4", "5"], "answer": "A"}\n'
)


class TestQuizChoices(ProjectionContract):
    projection = "quiz_choices"
    dialect = "quiz"
    good = {"quiz.jsonl": LINE + LINE.replace('"a"', '"b"')}
    replies = ("A", "B", "no idea", "A")
    rows = {"quiz_choices": 2}
