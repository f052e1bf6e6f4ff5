"""Judging by checklist: shared by dialects whose transcripts are judged by other models.

A judge gives one verdict for each item of a checklist, each with the words that it rests
on. Whether those words were said is checked here, not believed.
"""

from failproof_es.dialects.kit.judging.absence import Absence, states_absence
from failproof_es.dialects.kit.judging.affirmation import affirm
from failproof_es.dialects.kit.judging.checklist import Item, Kind, absences, checklist
from failproof_es.dialects.kit.judging.decision import ItemDecision, decide, judge_agreement
from failproof_es.dialects.kit.judging.prompt import Passage, ask, reply_schema
from failproof_es.dialects.kit.judging.reply import read_verdicts, void_items

__all__ = [
    "Absence",
    "Item",
    "ItemDecision",
    "Kind",
    "Passage",
    "absences",
    "affirm",
    "ask",
    "checklist",
    "decide",
    "judge_agreement",
    "read_verdicts",
    "reply_schema",
    "states_absence",
    "void_items",
]
