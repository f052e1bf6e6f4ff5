"""The person behind a request, for pages that show the name and for forms that are sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.requests import Request

_PERSON = "failproof_es.person"
_FORM = "failproof_es.form"
FORM_TOKEN = "form_token"  # noqa: S105 - the name of a field
"""Field of every form that writes, with `Person.form_token`."""


@dataclass(frozen=True, slots=True)
class Person:
    """A person who is logged in."""

    name: str
    form_token: str
    """Value of `FORM_TOKEN` in the forms of this response."""
    can_log_out: bool
    """Whether the console ends the session; with a proxy, the proxy does."""


class InvalidForm(ValueError):
    """A field that stands once in its form is there several times."""


class Form:
    """The fields of a form that was sent, in its order."""

    def __init__(self, fields: Sequence[tuple[str, str]] = ()) -> None:
        self._fields = tuple(fields)

    def value(self, name: str) -> str:
        """The value of the field; empty without it. Raises `InvalidForm` if it is there twice."""
        values = self.values(name)
        if len(values) > 1:
            raise InvalidForm(f"the field {name} is there twice")
        return values[0] if values else ""

    def values(self, name: str) -> tuple[str, ...]:
        """Every value of the field."""
        return tuple(value for field, value in self._fields if field == name)

    def names(self) -> frozenset[str]:
        """The names of the fields that are there."""
        return frozenset(name for name, _ in self._fields)


def person_of(request: Request) -> Person | None:
    """The person who is logged in; `None` in a console that only reads."""
    person: Person | None = request.scope.get(_PERSON)
    return person


def name_of_person(request: Request) -> str | None:
    """The name of the person who is logged in; `None` in a console that only reads."""
    person = person_of(request)
    return None if person is None else person.name


def form_of(request: Request) -> Form:
    """The form that the request sent; its origin and its token are checked."""
    form: Form = request.scope[_FORM]
    return form


def set_person(request: Request, person: Person) -> None:
    """Make `person` the person behind the request."""
    request.scope[_PERSON] = person


def set_form(request: Request, form: Form) -> None:
    """Make `form` the form that the request sent."""
    request.scope[_FORM] = form
