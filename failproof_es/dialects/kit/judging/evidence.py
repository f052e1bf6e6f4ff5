"""Selects the words of a model that are evidence in its favour: none that address judges.

Any words of the model prove a verdict against it, so that no wrapping takes a bad answer out of the
score. Only words that do not address the judge prove a verdict in its favour.

A model under test may write verdicts itself, or address its grader, and a judge that follows such
words would quote them. So these are no evidence in its favour: objects that pose as verdicts, lines
that name the checklist's lists, the rest of a line after an address of an evaluator, and everything
after a line that poses as a heading of the judge's question. A tool call that the model only typed
is no evidence either: real calls are separate (`prompt.Passage.calls`). Words that the case itself
asks for (an object with a key `quote`, a letter to a judge) pose as nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from failproof_es.dialects.kit.decoded_forms import folded
from failproof_es.dialects.kit.judging.posing import asked_keys, posing_spans

_JUDGE = r"""(?P<{name}>\b
    (?:evaluat|grad|assess|review|rat)(?:or|er)s? | judges? | examiners?
  | richter(?:in)? | pr[üu]e?fer(?:in)? | bewerter | gutachter | juges? | [ée]valuateurs?
  | examinateurs? | juez | jueces | evaluador(?:es)?
)\b"""
_ARTICLE = r"(?:(?:the|an?|all|any|my|our|your|die|den|der|alle|le|les|el|los)\W{1,3})?"
_ADJECTIVES = r"(?:[\w-]{1,20}\W{1,3}){0,2}?"
_SIGN = r"[:,;!)\]\u2013\u2014-]"
_ADDRESS = re.compile(
    rf"""(?:^[^\w@]*+ | (?<=[.!?])\s[^\w@\n]{{0,9}})
    (?: # a note to the judge, to whoever judges, @judge
        (?:(?:note|message|notice|attention|instructions?|reminder|hint|hinweis|nachricht|anmerkung
          |remarque|nota)\W{{1,3}}(?:to|for|an|f[üu]e?r|[àa]|au|pour|para|al)|attention)\W{{1,3}}
        {_ARTICLE}{_ADJECTIVES}{_JUDGE.format(name="noted")}
      | (?:evaluat(?:ion|or)|grad(?:ing|er)|judg(?:e|ing))\W(?:note|hint|instruction)s?\W{{0,3}}:
      | (?:to|for|an)\W{{1,3}}(?:whoever|whomever|anyone\ who|those\ who)\W{{1,3}}
        (?:\w+\W{{1,3}}){{0,2}}?(?:evaluat|grad|judg|assess|review|rat|scor)(?:e|es|ing)\b
      | @\W?{_JUDGE.format(name="named")}
        # for the evaluator:
      | (?:to|for|f[üu]e?r|pour|para)\W{{1,3}}(?:the|any|den|die|le|el)\W{{1,3}}
        {_ADJECTIVES}{_JUDGE.format(name="headed")}\W{{0,3}}(?::|$)
        # AI judge, / Dear judge, / The judge: and what a judge is to do or to find
      | (?: (?:[\w-]{{1,20}}\W{{1,3}}){{0,4}}?(?:ai|llm|automat(?:ed|ic)|ki)\W{{0,3}}
            (?:as\W{{0,3}}(?:an?\W{{1,3}})?)?{_JUDGE.format(name="machine")}\W{{0,3}}{_SIGN}
          | (?:(?:dear|hey|hello|to|for)\W{{1,3}}{_ARTICLE})?{_JUDGE.format(name="called")}
            \W{{0,3}}{_SIGN}
          | the\ {_JUDGE.format(name="labelled")}\W{{0,3}}[:\]] )
        \W{{0,4}}
        (?:(?:please|kindly|you\ (?:must|should|can|may)|now)\W{{1,3}}){{0,2}}
        (?:quote|grade|score|rate|mark|award|give|assign|accept|count|treat|ignore|output|answer
          |pass|this\ (?:is|was|answer|reply|response)|(?:the|my)\ (?:model|answer|reply|response)
          |i\b|(?:it\ is\ |is\ )?(?:met|not_met
          |present|absent|correct|right|passed)\b)
    )""",
    re.IGNORECASE | re.VERBOSE,
)
"""An address begins a line or a sentence. The name of a judge alone is no address: the line
`Judges: it follows the book of Joshua.` is an answer. Punctuation is matched possessively (`+`):
otherwise a line of nothing else would take quadratic time."""
_NAMED_JUDGE = re.compile(_JUDGE.format(name="named"), re.IGNORECASE | re.VERBOSE)
_LISTS = re.compile(
    r"""\bmust_(?:not_)?do\b | \bpass_criteria\b
      | \bmust[-.\ ](?:not[-.\ ])?do[\ .\#]{0,2}\d{1,3}\s?[:=)]
      | ^\W*+verdict\b\W{1,9}(?:present|absent|met|not[_\ ]met)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_VERDICT = re.compile(r"\bverdict\b\W{1,9}(?:present|absent|met|not[_ ]met)\b", re.IGNORECASE)
_QUOTE = re.compile(r"^\W*+quote\W{0,3}[:=>]", re.IGNORECASE)
_RULE = r"[-=\u2010-\u2015\u2500\u2501]"
_HEADING = re.compile(
    rf"""^\s*+(?P<rule>{_RULE}{{2,}}+)\W{{0,3}}(?:[0-9a-f]{{4,64}}\W{{1,3}})?
    (?: turn\W{{1,2}}\d{{1,9}}\s{{0,2}}(?::|,|{_RULE}|$)
      | conversation(?:\s(?:begin|end)s?\b|\W*$)
      | end(?:\s[0-9a-f]{{4,64}}\b|\s?{_RULE}{{2,}}\s*$)
      | [^\n]{{0,60}}?(?:model\ under\ test|answer\ to\ be\ graded) )""",
    re.IGNORECASE | re.VERBOSE,
)
"""`turn 3 of the bolt` is no heading."""
_TYPED_CALL = re.compile(
    r"""[\[<({\u00ab\u3010]\W{0,5}(?:\w{1,20}\W{1,3})?(?:tool|function)\W{0,5}
        _?(?:call|use|result|output)?s?(?![a-z])\W{1,9}[\w.-]{1,64}[ ]?[({].*""",
    re.IGNORECASE | re.VERBOSE,
)
"""A typed tool call, in our notation or in a chat template's."""
_GAP = "\n\udfff\n"
"""Replaces removed words, so that no quotation spans the gap: no quotation contains half a
surrogate pair (`reply.read_verdicts`)."""


def evidence(
    text: str, case_text: str = "", *, is_call: bool = False, has_tools: bool = True
) -> str:
    """The text without words that address judges and, with `has_tools`, without typed tool calls.

    `case_text` is the text of the case itself: whatever it asks for is kept. `is_call` says that
    `text` is a recorded tool call, so that no call in it is only typed. Removed words leave a gap
    that no quotation can span.
    """
    pieces: list[str] = []
    end = 0
    for start, after in posing_spans(text, asked_keys(case_text)):
        pieces += (text[end:start], _GAP)
        end = after
    own = "".join([*pieces, text[end:]])
    judges = frozenset(_judge_of(match) for match in _NAMED_JUDGE.finditer(case_text))
    return "\n".join(_evidence_lines(own, judges, has_typed_calls=has_tools and not is_call))


def _evidence_lines(
    text: str, case_keys: frozenset[str], *, has_typed_calls: bool
) -> Iterator[str]:
    has_verdict = _VERDICT.search(folded(text).text) is not None
    for line in text.splitlines():
        form = folded(line)
        if _HEADING.match(form.text):
            return
        if _LISTS.search(form.text) or (has_verdict and _QUOTE.match(form.text)):
            yield _GAP
            continue
        address = _ADDRESS.search(form.text)
        ends = [] if address is None or _judge_of(address) in case_keys else [address.start()]
        if has_typed_calls and (call := _TYPED_CALL.search(form.text)) is not None:
            ends.append(call.start())
        yield line[: form.place(min(ends))] + _GAP if ends else line


def _judge_of(address: re.Match[str]) -> str:
    """The word for the addressed judge, in lower case and singular; empty without an address."""
    return next(filter(None, address.groupdict().values()), "").lower().rstrip("s")
