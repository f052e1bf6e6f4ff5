"""The folder of this user's own settings, keys and answers: never the database's folder."""

from __future__ import annotations

import os
from pathlib import Path

HOME = "FAILPROOF_ES_HOME"
"""Environment variable that names another folder."""


def user_folder() -> Path:
    """The folder of this user's settings and keys. It may not exist yet."""
    import platformdirs

    home = os.environ.get(HOME)
    return Path(home) if home else platformdirs.user_config_path("failproof-es", appauthor=False)
