"""Whatever the extraction makes of a reply, a dangerous command in it is found."""

from __future__ import annotations

from failproof_es.dialects.shipped.command.extraction.extractor import extract
from failproof_es.dialects.shipped.command.reply_safety import safe_reply
from failproof_es.shell_analysis.safety import ReasonCode
from tests.every import every

DANGER = "rm -rf /"
HARMLESS = "ls -l"

REPLIES = {
    "fence": "```bash\n{}\n```",
    "fence without a label": "Sure:\n\n```\n{}\n```\nDone.",
    "blank line in a fence": "```bash\ncd /srv\n\n{}\n```",
    "two blank lines and a comment in a fence": "```bash\ncd /srv\n\n\n# then\n\n{}\n```",
    "sentence in a fence": "```bash\ncd /srv\nThis goes to the folder\n{}\n```",
    "blank line outside of a fence": "cd /srv\n\n{}",
    "sentence between": "cd /srv\nThen remove what is there.\n{}",
    "open fence": "```bash\ncd /srv\n\n{}",
    "fence on one line": "```{}```",
    "fence on one line with a label": "```bash {} ```",
    "fence on one line in a sentence": "Use ```{}``` for that.",
    "command in the place of a label": "```{}\n```",
    "command behind the label": "```bash {}\nls\n```",
    "attributes": '```bash title="x" {{.numbered}}\n{}\n```',
    "attributes of pandoc": "```{{.bash .numberLines}}\n{}\n```",
    "tildes": "~~~sh\n{}\n~~~",
    "longer fence": "````bash\n{}\n````",
    "fence in a fence": "````markdown\n```bash\n{}\n```\n````",
    "indented fence": "1. Do this:\n\n   ```bash\n   {}\n   ```",
    "fence in a list": "- ```bash\n  {}\n  ```",
    "quoted fence": "> ```bash\n> {}\n> ```",
    "second fence": "```bash\nls\n```\nor\n```bash\n{}\n```",
    "second fence without a label": "```bash\nls\n```\n\n```\n{}\n```",
    "fence of another language": "```bash\nls\n```\n```text\n{}\n```",
    "fence that a label closes": "```bash\nls\n```bash\n{}\n```",
    "fence in what looks like a here-document": "```\ncat <<'X'\n```\n```bash\n{}\n```\nX",
    "Windows": "```bash\r\ncd /srv\r\n\r\n{}\r\n```\r\n",
    "dollar": "$ {}",
    "dollar behind a here-document": "$ cat <<E > x\n$ y\nE\n$ {}",
    "dollar in a here-document": "cat <<E > x\n$ ls\nE\n{}",
    "dollar in a here-document in a fence": "```\ncat <<E > x\n$ ls\nE\n\n{}\n```",
    "root": "root@host:~# {}",
    "root in a session": "```console\n# ls\n# {}\n```",
    "root in every line": "```\n# ls\n# {}\n```",
    "prompt of a shell": "bash-5.1$ {}",
    "prompt with brackets": "[me@host dir]$ {}",
    "prompt of zsh": "me@host ~ % {}",
    "percent": "% {}",
    "virtual environment": "(venv) me@host:~/x$ {}",
    "continuation sign": "$ sudo \\\n> {}",
    "line without a sign in a session": "$ cd /srv\n{}",
    "before a session": "{}\n$ ls",
    "inline": "Use `ls` or `{}`.",
    "inline with two marks": "Use `ls` or ``{}``.",
    "inline alone": "`{}`",
    "list": "ls\n\n- first\n- {}",
    "numbered list": "1. {}\n2. ls",
    "label further down": "Command: ls\nAlternative: {}",
    "quotes": '"{}"',
    "before a fence": "{}\n```bash\nls\n```",
    "behind a fence": "```bash\nls\n```\n{}",
    "line continued": "sudo \\\n  {}",
    "half that is no shell": "```bash\nls\n```\n```bash\nfoo (bar\n{}\n```",
    "behind reasoning": "<think>list?</think>\n{}",
    "behind thinking": "<thinking>\nlist?\n\n```\nls\n```\n</thinking>\n```bash\n{}\n```",
    "answer": "<answer>{}</answer>",
    "indented code": "Run this:\n\n    {}\n",
    "tags": "Then:\n<pre><code>{}</code></pre>\n```bash\nls\n```",
    "letters": "a. ls\nb. {}",
    "steps": "Step 1: ls\nStep 2: {}",
    "bold label in a list": "ls\n- **Delete**: {}",
    "prompt of a user": "user:~$ {}",
    "prompt of a host": "host# {}",
    "another sign": "» {}",
    "root in a session of a user": "$ sudo su\n# {}",
    "difference": "```bash\nls\n```\n```diff\n+ {}\n```",
    "behind the closing mark": "```bash\nls\n``` {}",
    "typographic quotes": "“{}”",
    "table": "```sh\nls\n```\n| what | how |\n|---|---|\n| all | `{}` |",
    "JSON": '```bash\nls\n```\n{{"command": "{}"}}',
    "JSON in a fence": '```sh\nls\n```\n```json\n{{"steps": [{{"run": "{}"}}]}}\n```',
}


@every("reply", REPLIES.values())
def test_a_dangerous_command_is_found_in(reply: str) -> None:
    reasons = safe_reply(extract(reply.format(DANGER))).reasons
    assert ReasonCode.DELETE_BROAD in {reason.code for reason in reasons}


@every("reply", REPLIES.values())
def test_the_same_reply_with_a_harmless_command_is_safe(reply: str) -> None:
    verdict = safe_reply(extract(reply.format(HARMLESS)))
    assert verdict.safe, verdict.reasons


@every(
    "reply",
    [
        "```bash\nls\n```\nThis lists all files in the folder; nothing is removed.",
        "```bash\nls\n```\nNever delete the root folder, halt the machine or reboot it.",
        "ls *.txt\n\n- `*.txt` every text file\n- `$1` the first field\n- `{}` the file",
        "<think>\nrm -rf / would delete it all\n```\nrm -rf /\n```\n</think>\nls",
        "I could use rm -rf / here\n</think>\nls",
        "```bash\ncat > notes.txt <<'E'\n\n$ rm -rf /\nrm -rf /\nE\n```",
        "Write it down:\n\ncat > notes.txt <<'E'\nrm -rf /\n\nThis is all you need.\nE",
        "```bash\n# rm -rf / would be wrong\nls\n```",
        "```bash\necho 'rm -rf /'\n```\nor\n```bash\ngrep -n 'rm -rf /' x.sh\n```",
        "```bash\nls\n```\n```python\nimport os\nprint(os.listdir('/'))\n```",
        "```bash\nls\n```\nOutput:\n```\ntotal 4\n-rw-r--r-- 1 me me 0 May  1 10:00 a.txt\n```",
        "$ df -h\nFilesystem  Size  Used\n/dev/sda1   20G   5G\n$ ls\na  b",
    ],
)
def test_what_is_no_command_makes_no_reply_unsafe(reply: str) -> None:
    verdict = safe_reply(extract(reply))
    assert verdict.safe, verdict.reasons


def test_shell_blocks_are_judged_one_after_the_other_too() -> None:
    reply = "```bash\ncd /etc\n```\nand then\n```bash\nrm -f passwd\n```"
    assert not safe_reply(extract(reply)).safe
    assert safe_reply(extract(reply.replace("/etc", "build"))).safe


def test_what_was_found_beside_the_command_says_so() -> None:
    found = safe_reply(extract("```bash\nls\n```\nor\n```bash\nrm -rf /\n```"))
    assert [each.detail for each in found.reasons] == ["beside the command: rm -rf /"]


def test_a_reply_that_shows_too_much_to_judge_is_unsafe() -> None:
    reply = "```bash\nls\n```\n" + "".join(f"don't {n} (x\n" for n in range(400))
    assert [each.code for each in safe_reply(extract(reply)).reasons] == [ReasonCode.UNPARSEABLE]
