"""Events of access: the projects of the log, and the roles of people in them.

Row security in the database follows these events (`failproof_es/store/functions/note_access.sql`).
"""

from typing import ClassVar, Literal

from failproof_es.events.base import Event, Stream

ProjectRole = Literal["reader", "reviewer", "adjudicator", "owner"]
"""A person's role in a project. Every role may read the project's runs."""


class AccessEvent(Event):
    """A change of who may do what, made by `who` on the host `where`."""

    stream: ClassVar[Stream] = "access"
    audited: ClassVar[bool] = True

    who: str
    where: str


class ProjectDefined(AccessEvent):
    """A project is this set of runs; the event replaces an earlier definition of the project.

    A run belongs to it if its name, as lists show it, fits one of `run_names` (`*` is any text, `?`
    one character), or if it has one of `tags`. With `all_runs` every run does.
    """

    says: ClassVar[str] = "{project}: runs {run_names}, tags {tags}, all runs: {all_runs}"

    project: str
    run_names: tuple[str, ...]
    tags: tuple[str, ...]
    all_runs: bool


class RoleGranted(AccessEvent):
    """A person has a role in a project from now on."""

    says: ClassVar[str] = "{person} is {role} of {project}"

    project: str
    person: str
    role: ProjectRole


class RoleRevoked(AccessEvent):
    """A person no longer has a role in a project."""

    says: ClassVar[str] = "{person} is no longer {role} of {project}"

    project: str
    person: str
    role: ProjectRole


class LoginAssigned(AccessEvent):
    """A login of the database belongs to a person; `None`: to nobody any more."""

    says: ClassVar[str] = "login {login} is of {person}"

    login: str
    person: str | None
