"""The dialect is put through the same contract tests as ours."""

from failproof_es.testing.dialect_contract import DefectiveFile, DialectContract, SampleReply

LINE = (
    '{"quiz": "q", "question_id": "a", "question": "What is 2 + 2, the sum of them?", '
    '"choices": ["4", "5"], "answer": "A"}\n'
)


class TestQuiz(DialectContract):
    dialect = "quiz"
    good = {"quiz.jsonl": LINE}
    cases = 1
    defective = (
        DefectiveFile(
            "quiz.jsonl",
            LINE + LINE.replace('"What is 2 + 2, the sum of them?"', "4"),
            2,
            "question",
        ),
        DefectiveFile("quiz.jsonl", LINE.replace('"a"', '""'), 1, "question_id"),
        DefectiveFile("quiz.jsonl", LINE.replace('["4", "5"]', '["4"]'), 1, "choices"),
        DefectiveFile("quiz.jsonl", LINE.replace('"A"', '"C"'), 1, "answer"),
        DefectiveFile("quiz.jsonl", LINE.replace('"A"', '"A", "level": "odd"'), 1, "level"),
        DefectiveFile("quiz.jsonl", LINE.replace("answer", "anwser"), 1, "anwser"),
    )
    replies = (
        SampleReply("A", "passed"),
        SampleReply("The answer is A.", "passed"),
        SampleReply("B", "failed"),
        SampleReply("A or B", "failed"),
        SampleReply("no idea", "failed"),
    )

    def many(self, count: int) -> tuple[str, str]:
        return "quiz.jsonl", "".join(LINE.replace('"a"', f'"a{n}"') for n in range(count))
