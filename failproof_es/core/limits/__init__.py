"""Limits of a provider key that several workers share: how they are shared out, and used. Pure.

A worker has a share for some seconds and sends within it without asking anybody. It stops by its
own clock long before its share ends in the database. What a share holds of a minute's limit counts
until a minute after it has ended, whoever is paused or dies. So at any moment, over all workers,

    requests in flight under shares that have not ended <= the limit of concurrent requests

and in any minute no more is sent than its limit.
"""

from __future__ import annotations

from failproof_es.core.limits.local_share import LocalShare as LocalShare
from failproof_es.core.limits.local_share import Permit as Permit
from failproof_es.core.limits.shared import NOT_LIMITED as NOT_LIMITED
from failproof_es.core.limits.shared import GrantedShare as GrantedShare
from failproof_es.core.limits.shared import KeyLimits as KeyLimits
from failproof_es.core.limits.shared import KeyState as KeyState
from failproof_es.core.limits.shared import LateClaim as LateClaim
from failproof_es.core.limits.shared import ProviderKey as ProviderKey
from failproof_es.core.limits.shared import ShareClaim as ShareClaim
from failproof_es.core.limits.shared import lowest_of as lowest_of
from failproof_es.core.limits.shared import share as share
from failproof_es.core.limits.token_queue import QueuedRequest as QueuedRequest
from failproof_es.core.limits.token_queue import TokenQueue as TokenQueue
