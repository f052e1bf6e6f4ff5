"""The spend ceiling of a run: what a request may cost at most, and what counts as spent. Pure.

Before a request is recorded its worst case is reserved. Once its outcome is recorded, the
reservation is replaced by what that is charged: the cost of its usage where it is known
(`failproof_es.core.costs`), else the worst case. So at any moment, whatever process dies,

    costs of recorded answers <= spent + reserved <= ceiling

as long as each answer stays within its worst case. A server that ignores `max_tokens` may exceed
it: `Charge.beyond` says so, and the run stops. Everything is exact: no sum is rounded.
"""

from __future__ import annotations

from failproof_es.core.spend.budget import RunBudget as RunBudget
from failproof_es.core.spend.budget import SpendBudget as SpendBudget
from failproof_es.core.spend.budget import SpendState as SpendState
from failproof_es.core.spend.budget import ceiling_of as ceiling_of
from failproof_es.core.spend.budget import describe_unknown as describe_unknown
from failproof_es.core.spend.budget import spent_text as spent_text
from failproof_es.core.spend.budget import usd_text as usd_text
from failproof_es.core.spend.budget import written_usd as written_usd
from failproof_es.core.spend.charges import Charge as Charge
from failproof_es.core.spend.charges import Outcome as Outcome
from failproof_es.core.spend.charges import RequestSpending as RequestSpending
from failproof_es.core.spend.charges import charge_of as charge_of
from failproof_es.core.spend.charges import costs_nothing as costs_nothing
from failproof_es.core.spend.charges import spending_of as spending_of
from failproof_es.core.spend.slices import Grant as Grant
from failproof_es.core.spend.slices import SliceBudget as SliceBudget
from failproof_es.core.spend.slices import SpendReport as SpendReport
from failproof_es.core.spend.slices import total_of as total_of
from failproof_es.core.spend.worst_case import HIDDEN_INPUT_TOKENS as HIDDEN_INPUT_TOKENS
from failproof_es.core.spend.worst_case import NOT_BOUNDED as NOT_BOUNDED
from failproof_es.core.spend.worst_case import is_bounded as is_bounded
from failproof_es.core.spend.worst_case import most_input_tokens as most_input_tokens
from failproof_es.core.spend.worst_case import most_output_tokens as most_output_tokens
from failproof_es.core.spend.worst_case import most_usd as most_usd
from failproof_es.core.spend.worst_case import worst_case as worst_case
