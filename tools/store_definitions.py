"""Print `failproof_es/store/definitions.json`: what a fresh installation makes."""

import sys

from failproof_es.store.schema.definitions import as_file, fresh

if __name__ == "__main__":
    sys.stdout.write(as_file(fresh()))
