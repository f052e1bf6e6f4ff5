"""The base class of the provider types whose models are behind a user's own class."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from failproof_es.configuration.schema import Model
from failproof_es.models.catalog.packages import package_of
from failproof_es.models.provider_type import BaseProviderType, EntryProblem
from failproof_es.models.user_code.finding import OF_PYTHON, is_of_standard_library
from failproof_es.problems import InvalidInput


class UserClassType(BaseProviderType):
    """Base class of the provider types whose entries name a user's own class."""

    checked_by = ""
    """Words for the steps of a check beyond constructing the class, to stand after a comma."""

    def destination(self, model: Model) -> str:
        """The receiver of the secrets, for people: the class."""
        return f"the class {model.class_}"

    def describe_check(self, model: Model, *, offline: bool) -> str:
        """The check in words: it constructed the class; `offline`: it did not run it."""
        if offline:
            return f"not run: the class {model.class_}; `validate --run-classes` runs it"
        key = f"with the key in {model.api_key_env}" if model.api_key_env else "without a key"
        return f"constructed the class {model.class_} {key}{self.checked_by}"

    def problems(self, model: Model) -> Iterable[EntryProblem]:
        """Yield an error for a class of the standard library.

        `timeit:timeit` would run the model's name as code.
        """
        if is_of_standard_library((model.class_ or "-").partition(":")[0]):
            yield EntryProblem("class-unfit", "class", OF_PYTHON, "name a class of your own")

    def packages(self, model: Model) -> Mapping[str, str]:
        """Name and version of the package that the class comes from; empty without a package."""
        package = package_of(model.class_ or "")
        return {} if package is None else dict([package])


def key_of_class(model: Model, key: str | None) -> str:
    """The key to construct the class with: the value of the entry's variable, or else `key`.

    Empty without either. Raises `InvalidInput` if the variable is not set.
    """
    variable = model.api_key_env
    if variable is None:
        return key or ""
    if not (value := os.environ.get(variable)):
        raise InvalidInput.because(
            "key-not-set",
            f"model {model.model}: the environment variable {variable} is not set",
            remedy=f"export {variable} with the key that {model.class_} takes",
        )
    return value
