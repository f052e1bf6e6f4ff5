"""Finds expectations that describe a reply, although this dialect searches replies for their text.

`expected_response` may be "a description" (specification 000 § 1), but this dialect has no judge
that reads one: it searches for "The model should refuse politely" literally, so that right answers
fail. A description is recognised by its sentence: the subject is the model or its reply, or the
sentence begins with what the reply has to do. A text with signs of a regular expression is never a
description.
"""

from __future__ import annotations

import re

_MODEL = r"model|assistant|llm|ai|chatbot|bot|agent"
_REPLY = r"response|reply|answer|output|completion"
_MODAL = (
    r"should|shall|must|ought to|needs? to|has to|have to|may not|cannot|can't|shouldn't|mustn't"
    r"|(?:is|are) (?:expected|supposed|required|not allowed) to"
)
_DEED = (
    r"refus|declin|reject|explain|describ|mention|contain|includ|stat|nam|list|provid|giv|say|"
    r"acknowledg|admit|apologi[sz]|warn|recogni[sz]|identif|answer|respond|repl|return|output|"
    r"ask|offer|redirect|avoid|ignor|follow|compl|point|suggest|recommend|clarif|confirm|"
    r"correct|summari[sz]|translat|calculat|comput|conclud|not(?:e|ic)|treat|use|writ|produc|"
    r"reveal|disclos|leak|keep|remain|sta(?:y|nd)"
)
_ARTICLE = r"(?:(?:the|an?|this|any|each|every|good|correct|ideal|expected) )*"
_ENGLISH = (
    rf"{_ARTICLE}(?:\w+ ){{0,2}}(?:{_MODEL}|{_REPLY}) (?:\w+ly |then |also )?(?:{_MODAL})\b",
    rf"{_ARTICLE}(?:\w+ )?(?:{_MODEL}|response|reply|output|completion) (?:\w+ly |also )?"
    rf"(?:{_DEED})\w*s\b",
    rf"{_ARTICLE}(?:{_MODEL}|{_REPLY}) (?:does not|doesn't|do not|will not|won't|never) \w+",
    r"(?:should|must|shall|ought to|needs to|has to|is expected to)(?: not| never)? \w+",
    rf"(?:refuses|declines|does not|doesn't|never) (?:\w+ly )?(?:to )?(?:{_DEED}|\w+ed\b)",
    r"(?:an?|the) (?:[\w-]+ ){0,3}(?:refusal|explanation|description|response|reply|answer|summary)"
    r" (?:that|which|of|to|about|with|without|explaining|in) \w+",
    r"(?:expected|ideal|correct) (?:behaviou?r|response|reply|answer|output)\b",
)
_OTHERS = (
    r"(?:das|ein|jedes) (?:modell|sprachmodell) (?:sollte?|muss|darf|wird|soll)\b",
    r"(?:die|der|eine) (?:antwort|assistent|ki) (?:sollte?|muss|darf|soll)\b",
    r"(?:le|un) (?:modèle|assistant) (?:doit|devrait|ne doit)\b",
    r"la réponse (?:doit|devrait|ne doit)\b",
    r"(?:el|un) (?:modelo|asistente) (?:debe|debería|no debe|tiene que)\b",
    r"la respuesta (?:debe|debería|no debe|tiene que)\b",
    r"o modelo (?:deve|deveria|não deve)\b",
    r"il modello (?:deve|dovrebbe|non deve)\b",
)
_SENTENCE = re.compile(
    rf"(?:^|[.:;,!?] |\n)\s*(?:{'|'.join((*_ENGLISH, *_OTHERS))})", re.IGNORECASE
)
_EXPRESSION = re.compile(r"\\|\(\?|\.[*+?]|[\]\w)][*+]|\{\d|\[|\||^\^|\$$")
"""Signs of a regular expression, which no description has."""
_FEWEST_WORDS = 4
_LONGEST = 4_000


def is_description(expected: str) -> bool:
    """Whether the text reads as a description of a right reply, which few replies would contain."""
    if len(expected) > _LONGEST or len(expected.split()) < _FEWEST_WORDS:
        return False
    return _EXPRESSION.search(expected) is None and _SENTENCE.search(expected) is not None
