"""The command in a reply, and what was taken off around it."""

from __future__ import annotations

from failproof_es.dialects.shipped.command.extraction.extractor import extract
from tests.every import every

FENCED = "Here is the command you asked for:\n\n```bash\nls -la\n```\n\nIt lists all files."
LENIENT = {
    "bare": ("ls -la", "ls -la", []),
    "white space": ("\n  ls -la \n", "ls -la", []),
    "fence": ("```\nls -la\n```", "ls -la", ["fence"]),
    "fence with text around": (FENCED, "ls -la", ["fence", "explanation", "explanation"]),
    "tilde fence": ("~~~sh\nls -la\n~~~", "ls -la", ["fence"]),
    "open fence": ("```bash\nls -la\n", "ls -la", ["fence"]),
    "fence on one line": ("```ls -la```", "ls -la", ["fence"]),
    "the shell block of two": (
        "```python\nprint(1)\n```\n```bash\nls\n```", "ls", ["fence", "explanation"],
    ),
    "the first block when none is shell": ("```python\nls\n```", "ls", ["fence"]),
    "span": ("`ls -la`", "ls -la", ["code_span"]),
    "span in a sentence": (
        "To list all files, use `ls -la`.", "ls -la", ["code_span", "explanation", "explanation"],
    ),
    "substitution": ("echo `date`", "echo `date`", []),
    "sign": ("$ ls -la", "ls -la", ["prompt_sign"]),
    "console": (
        "me@host:~/x$ ls -l \\\n  -a\ntotal 3\n$ pwd", "ls -l \\\n  -a\npwd",
        ["prompt_sign", "output", "prompt_sign"],
    ),
    "console in a fence": ("```console\n$ ls\na b\n```", "ls", ["fence", "prompt_sign", "output"]),
    "variable": ("$EDITOR notes.txt", "$EDITOR notes.txt", []),
    "label": ("Command: ls -la", "ls -la", ["label"]),
    "bold label": ("**Command:** `ls -la`", "ls -la", ["label", "code_span"]),
    "label before a substitution": ("Command: cat `which ls`", "cat `which ls`", ["label"]),
    "a here-document behind a sign": (
        "$ cat <<EOF\n$x\nEOF\n1", "cat <<EOF\n$x\nEOF", ["prompt_sign", "output"],
    ),
    "label on its own line": ("Answer:\nls", "ls", ["label"]),
    "several lines": ("cd /tmp\nls", "cd /tmp\nls", []),
    "reasoning": ("<think>\nls? yes\n</think>\n\nls", "ls", ["reasoning"]),
    "quotes": ('"ls -la"', "ls -la", ["quotes"]),
    "quoted words": ("'my program' 'an argument'", "'my program' 'an argument'", []),
    "a capitalised program": ("Rscript --vanilla run.R out", "Rscript --vanilla run.R out", []),
    "an assignment": ("Name=x make all now", "Name=x make all now", []),
    "comment": ("# list\nls", "# list\nls", []),
    "refusal": ("I'm sorry, but I can't help with that.", "", ["explanation"]),
    "nothing": ("", "", []),
    "blank line in a fence": ("```bash\ncd /srv\n\nls\n```", "cd /srv\n\nls", ["fence"]),
    "fence on one line with a label": ("```bash ls -la ```", "ls -la", ["fence"]),
    "fence on one line with a shell": ("```bash -c 'ls'```", "bash -c 'ls'", ["fence"]),
    "fence on one line with a script": ("```sh run.sh```", "sh run.sh", ["fence"]),
    "fence on one line with backticks": ("```echo `date` now```", "echo `date` now", ["fence"]),
    "command in the place of a label": ("```ls -la\n```", "ls -la", ["fence"]),
    "attributes": ("```bash title=\"x\"\nls\n```", "ls", ["fence"]),
    "attributes of pandoc": ("``` {.bash #a}\nls\n```", "ls", ["fence"]),
    "longer fence": ("````bash\necho '```'\n````", "echo '```'", ["fence"]),
    "fence in a here-document": (
        "```bash\ncat > a.md <<'E'\n```\nls\n```\nE\nls\n```",
        "cat > a.md <<'E'\n```\nls\n```\nE\nls", ["fence"],
    ),
    "fence in a Markdown fence": ("````md\n# A\n```sh\nls\n```\n````", "ls", ["fence"]),
    "indented fence": (
        "1. First:\n   ```bash\n   if x; then\n     ls\n   fi\n   ```", "if x; then\n  ls\nfi",
        ["fence", "explanation"],
    ),
    "quoted fence": ("> ```\n> cat <<E\n> x\n> E\n> ```", "cat <<E\nx\nE", ["fence"]),
    "Windows": ("```bash\r\ncd x\r\nls\r\n```\r\n", "cd x\nls", ["fence"]),
    "a sign in a here-document": ("cat <<E > x\n$ ls\nE\npwd", "cat <<E > x\n$ ls\nE\npwd", []),
    "continuation signs": (
        "$ cat <<E\n> a b\n> E\na b\n$ for f in *; do\n> ls $f\n> done",
        "cat <<E\na b\nE\nfor f in *; do\nls $f\ndone",
        ["prompt_sign", "output", "prompt_sign"],
    ),
    "root": ("root@h:/srv# ls", "ls", ["prompt_sign"]),
    "root in a console": ("```console\n# ls\na\n```", "ls", ["fence", "prompt_sign", "output"]),
    "comment in a console": (
        "```console\n# list\n$ ls\n```", "ls", ["fence", "output", "prompt_sign"],
    ),
    "comment in a fence": ("```\n# list\nls\n```", "# list\nls", ["fence"]),
    "prompt with brackets": ("[me@host x]$ ls", "ls", ["prompt_sign"]),
    "prompt of zsh": ("me@host ~ % ls", "ls", ["prompt_sign"]),
    "prompt of an environment": ("(venv) me@host:~$ ls", "ls", ["prompt_sign"]),
    "prompt with a version": ("bash-5.1$ ls", "ls", ["prompt_sign"]),
    "arrow": ("❯ ls", "ls", ["prompt_sign"]),
    "thinking": ("<thinking>\n```\nls\n```\n</thinking>\npwd", "pwd", ["reasoning"]),
    "reasoning with another name": ("<reasoning>ls?</reasoning>\npwd", "pwd", ["reasoning"]),
    "reasoning in brackets": ("[THINK]ls?[/THINK]pwd", "pwd", ["reasoning"]),
    "reasoning that began before": ("ls would do\n</think>\n\npwd", "pwd", ["reasoning"]),
    "reasoning without an end": ("<think>\nTry this:\n```\nls\n```", "", ["reasoning"]),
    "reasoning in reasoning": ("<think>a <think>b</think> c</think>\nls", "ls", ["reasoning"]),
    "a comment before": ("<!-- list -->\n<!-- rm -rf ~ -->\nls", "ls", ["explanation"]),
    "a comment in the command": ("grep '<!-- x -->' f", "grep '<!-- x -->' f", []),
    "reasoning behind a zero-width sign": ("\u200b<think\n>a</think>ls", "ls", ["reasoning"]),
    "reasoning of another name": ("<reflection>a</reflection>ls", "ls", ["reasoning"]),
    "reasoning in the middle": (
        "Sure:\n<think>\na\n</think>\nls", "ls", ["reasoning", "explanation"],
    ),
    "a tag in the command": ("sed 's|</think>||g' f", "sed 's|</think>||g' f", []),
    "reasoning twice": ("<think>a</think>\n<think>b</think>\nls", "ls", ["reasoning"]),
    "a channel": (
        "<|channel|>analysis<|message|>ls?<|end|><|start|>assistant<|channel|>final<|message|>pwd",
        "pwd", ["reasoning"],
    ),
    "a tag in a command": ("grep '</think>' a.txt", "grep '</think>' a.txt", []),
    "a tag in a fence": (
        "```\ncat <<E\n<think>\nE\n```", "cat <<E\n<think>\nE", ["fence"],
    ),
    "a file before the command": (
        "To show `notes.txt`, run `cat notes.txt`.", "cat notes.txt",
        ["code_span", "explanation", "explanation"],
    ),
    "a folder in quotes in the command": (
        "In `src`, run `find 'src' -name '*.c'`.", "find 'src' -name '*.c'",
        ["code_span", "explanation", "explanation"],
    ),
    "a program before its manual": (
        "Use `ls`, which `man ls` explains.", "ls", ["code_span", "explanation", "explanation"],
    ),
    "a program before it behind another": (
        "You use `pwd`, or `cd x; pwd`.", "pwd", ["code_span", "explanation", "explanation"],
    ),
    "Chinese": ("您可以使用以下命令：\n\nls -la", "ls -la", ["explanation"]),
    "Chinese around a span": (
        "使用`ls -la`命令列出 Linux 的文件。", "ls -la",
        ["code_span", "explanation", "explanation"],
    ),
    "Japanese": ("次のコマンドを実行してください：\nls -la", "ls -la", ["explanation"]),
    "Russian": (
        "Используйте команду `ls -la`, чтобы увидеть все файлы.", "ls -la",
        ["code_span", "explanation", "explanation"],
    ),
    "Russian before the command": ("Конечно!\nВыполните команду:\nls", "ls", ["explanation"]),
    "French": (
        "Pour répéter l’opération, exécutez `ls -la` à la racine.", "ls -la",
        ["code_span", "explanation", "explanation"],
    ),
    "German": ("Für alle Einträge genügt Folgendes:\nls -la", "ls -la", ["explanation"]),
    "Hindi": (
        "सभी फ़ाइलें दिखाने के लिए `ls -la` चलाएँ।", "ls -la",
        ["code_span", "explanation", "explanation"],
    ),
    "Arabic": (
        "استخدم الأمر `ls -la` لعرض الملفات", "ls -la", ["code_span", "explanation", "explanation"],
    ),
    "a header of Llama": (
        "<|start_header_id|>assistant<|end_header_id|>\n\nls -la<|eot_id|>", "ls -la",
        ["label", "label", "label"],
    ),
    "a header of ChatML": ("<|im_start|>assistant\nls -la<|im_end|>", "ls -la", ["label", "label"]),
    "words in JSON": ('{"command": ["ls", "-la", "a b"]}', "ls -la 'a b'", ["json"]),
    "commands in JSON": ('{"commands": ["ls -la"]}', "ls -la", ["json"]),
    "several commands in JSON": ('{"commands": ["cd", "ls"]}', "cd\nls", ["json"]),
    "lines in JSON": ('{"command": ["cd /tmp", "ls"]}', "cd /tmp\nls", ["json"]),
    "answer": ("<answer>ls -la</answer>", "ls -la", ["label", "label"]),
}  # fmt: skip


@every(("reply", "command", "removed"), LENIENT.values())
def test_what_surrounds_a_command_is_taken_off_and_told(
    reply: str, command: str, removed: list[str]
) -> None:
    found = extract(reply)
    assert found.command == command
    assert [each.kind for each in found.removed] == removed


@every("reply", [reply for reply, _, _ in LENIENT.values()])
def test_strict_extraction_takes_off_nothing(reply: str) -> None:
    assert extract(reply, "strict").command == reply
    assert extract(reply, "strict").removed == ()


def test_what_is_taken_off_is_told_as_it_stood() -> None:
    first, before, behind = extract(FENCED).removed
    assert first.text == "```bash"
    assert before.text == "Here is the command you asked for:"
    assert behind.text == "It lists all files."
