"""The dialect is put through the contract that ours are held to."""

from failproof_es.testing.dialect_contract import Defective, DialectContract, Said

LINE = (
    '{"quiz": "q", "question_id": "a", "question": "What is 2 + 2, the sum of them?", '
    '"choices": ["4", "5"], "answer": "A"}\n'
)


class TestQuiz(DialectContract):
    dialect = "quiz"
    good = {"quiz.jsonl": LINE}
    cases = 1
    defective = (
        Defective(
            "quiz.jsonl",
            LINE + LINE.replace('"What is 2 + 2, the sum of them?"', "4"),
            2,
            "question",
        ),
        Defective("quiz.jsonl", LINE.replace('"a"', '""'), 1, "question_id"),
        Defective("quiz.jsonl", LINE.replace('["4", "5"]', '["4"]'), 1, "choices"),
        Defective("quiz.jsonl", LINE.replace('"A"', '"C"'), 1, "answer"),
        Defective("quiz.jsonl", LINE.replace('"A"', '"A", "level": "odd"'), 1, "level"),
        Defective("quiz.jsonl", LINE.replace("answer", "anwser"), 1, "anwser"),
    )
    replies = (
        Said("A", "passed"),
        Said("The answer is A.", "passed"),
        Said("B", "failed"),
        Said("A or B", "failed"),
        Said("no idea", "failed"),
    )

    def many(self, count: int) -> tuple[str, str]:
        return "quiz.jsonl", "".join(LINE.replace('"a"', f'"a{n}"') for n in range(count))
