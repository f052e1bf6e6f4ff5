"""Print `projections/definitions.json`: the read models that this version makes."""

import sys

from failproof_es.store.schema.definitions import as_file, fresh
from projections.relations import LIVE
from projections.runner import prepare

if __name__ == "__main__":
    sys.stdout.write(as_file(fresh([LIVE], prepare)))
