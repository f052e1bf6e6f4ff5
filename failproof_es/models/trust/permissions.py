"""Permissions of this host: which variable may go to which host, and which classes may run. Pure.

A configuration is untrusted input, from a colleague, a stranger, or anyone who could write to the
log. Its demands are compared with the permissions before a provider is created.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from failproof_es.configuration.schema import CREDENTIALS, Configuration, Model
from failproof_es.models import base_url_of, provider_type, secret_variables
from failproof_es.models.trust.vendors import (
    credentials_name,
    host_matches,
    is_secret_of_others,
    vendor_of,
)
from failproof_es.problems import InvalidInput, Problem, text_list_problem

ALLOW = "--allow"
ALLOW_CLASS = "--allow-class"
_A_PAIR, _A_CLASS = "MY_KEY=models.example", "package.module:Name"


class VariablePermission(NamedTuple):
    """A variable, and the host that may receive its value."""

    variable: str
    host: str
    """`api.example.com` (any port), `127.0.0.1:8000`, or a class as `package.module:Name`. In a
    permission `*` stands for one part of a name."""

    def __str__(self) -> str:
        return f"{self.variable}={self.host}"

    def permits(self, pair: VariablePermission) -> bool:
        """Whether this permission covers the demand: the same variable, and a matching host."""
        if self.variable != pair.variable:
            return False
        hosts = (pair.host, _without_port(pair.host))
        return self.host == pair.host or any(host_matches(self.host, host) for host in hosts)


@dataclass(frozen=True, slots=True)
class Demand:
    """A secret that a configuration sends to a host."""

    field: str
    """The field of the configuration: `models[0].api_key_env`."""
    pair: VariablePermission
    is_vendors_own: bool
    """Whether it is a vendor's secret that goes to that vendor's own host."""

    @property
    def needs_a_yes(self) -> bool:
        """Whether the demand needs the user's consent even in the user's own configuration."""
        variable = self.pair.variable
        foreign = vendor_of(variable) is not None or is_secret_of_others(variable)
        return foreign and not self.is_vendors_own

    @property
    def reason(self) -> str:
        """Why the secret needs a permission."""
        variable, host = self.pair
        if (vendor := vendor_of(variable)) is not None:
            return f"{variable} is a secret of {vendor.name}, and {host} is not {vendor.name}'s"
        if is_secret_of_others(variable):
            return f"{variable} is the name of a secret of something else, and would go to {host}"
        return f"{variable} would go to {host}, which this host does not allow"


@dataclass(frozen=True, slots=True)
class ClassDemand:
    """A class that a configuration runs."""

    field: str
    class_name: str
    """`package.module:Name`."""
    folder: Path | None = None
    """The folder of the configuration, which is searched first for the module."""

    @property
    def reason(self) -> str:
        """Why the class needs a permission."""
        return f"the class {self.class_name} would run, which this host does not allow"


@dataclass(frozen=True, slots=True)
class Permissions:
    """Permissions. By default only a vendor's secret may go, and only to that vendor's host.

    `own`: the user names the configuration. It may also send other variables to the server of the
    same entry, and run its classes.
    """

    pairs: frozenset[VariablePermission] = frozenset()
    classes: frozenset[str] = frozenset()
    own: bool = False

    def and_also(
        self, pairs: Collection[VariablePermission] = (), classes: Collection[str] = ()
    ) -> Permissions:
        """These permissions, with `pairs` and `classes` added."""
        return replace(self, pairs=self.pairs | set(pairs), classes=self.classes | set(classes))

    def permits(self, demand: Demand | ClassDemand) -> bool:
        """Whether the demand is permitted."""
        if isinstance(demand, ClassDemand):
            return self.own or demand.class_name in self.classes
        if demand.is_vendors_own or (self.own and not demand.needs_a_yes):
            return True
        return any(pair.permits(demand.pair) for pair in self.pairs)

    def missing(self, demands: Iterable[Demand | ClassDemand]) -> list[Demand | ClassDemand]:
        """The demands that are not permitted, in order; of equal ones only one."""
        refused = [demand for demand in demands if not self.permits(demand)]
        return list({option_for(demand): demand for demand in reversed(refused)}.values())[::-1]

    def require(self, configuration: Configuration) -> None:
        """Raise `InvalidInput` if demands of the configuration are not permitted.

        It has an error for each of them.
        """
        if refused := self.missing(demands_of(configuration)):
            raise InvalidInput([problem_of(demand) for demand in refused])

    def describe(self) -> Iterator[str]:
        """The permissions, for people, one line each."""
        yield "allowed here: a vendor's key to the vendor's own host"
        for pair in sorted(self.pairs):
            yield f"allowed here: {pair.variable} -> {pair.host}"
        for name in sorted(self.classes):
            yield f"allowed here: the class {name} runs"
        if not self.classes:
            yield "allowed here: no class runs"


OWN = Permissions(own=True)
"""The permissions of a configuration that the user names."""


def demands_of(configuration: Configuration) -> Iterator[Demand | ClassDemand]:
    """The demands of a configuration, model by model, judges included."""
    for field, model in models_of(configuration):
        yield from demands_of_model(field, model)


def demands_of_model(field: str, model: Model) -> Iterator[Demand | ClassDemand]:
    """Yield the demands of one entry; `field` is its place in the configuration, `models[0]`."""
    if model.class_ is not None:
        yield ClassDemand(f"{field}.class", model.class_, model.place.class_folder)
    for variable in _secret_names(model):
        for host, is_server in _reading_hosts(model):
            own = is_server and _is_vendors_own(variable, model)
            yield Demand(
                f"{field}.{_field_of(variable, model)}", VariablePermission(variable, host), own
            )


def granted_for(configuration: Configuration) -> Permissions:
    """Permissions for exactly the configuration's demands, for the processes of its run."""
    demands = list(demands_of(configuration))
    return Permissions(
        frozenset(demand.pair for demand in demands if isinstance(demand, Demand)),
        frozenset(demand.class_name for demand in demands if isinstance(demand, ClassDemand)),
    )


def permissions_of(
    allow: Sequence[str], allow_class: Sequence[str] = (), *, own: bool = False
) -> Permissions:
    """The permissions from options: `VARIABLE=HOST`, `package.module:Name`.

    `own`: the user names the configuration. Raises `InvalidInput` for a malformed option, and for
    anything but lists or tuples of texts.
    """
    lists = (("allow", allow, _A_PAIR), ("allow_class", allow_class, _A_CLASS))
    problems = [
        problem
        for field, value, example in lists
        if (problem := text_list_problem(value, field, example)) is not None
    ]
    if problems:
        raise InvalidInput(problems)
    pairs = []
    for option in allow:
        variable, sign, host = (part.strip() for part in option.partition("="))
        if not (variable and sign and host) or "/" in host:
            problems.append(
                Problem(
                    "invalid-option",
                    f"{ALLOW} {option} is not VARIABLE=HOST",
                    remedy=f"write it like {ALLOW} {_A_PAIR}",
                )
            )
        pairs.append(VariablePermission(variable, host))
    for name in allow_class:
        if not all(name.partition(":")):
            problems.append(
                Problem(
                    "invalid-option",
                    f"{ALLOW_CLASS} {name} is not a class",
                    remedy=f"write it like {_A_CLASS}",
                )
            )
    if problems:
        raise InvalidInput(problems)
    return Permissions(frozenset(pairs), frozenset(allow_class), own)


def with_own_servers(
    permissions: Permissions, configuration: Configuration, changed: Collection[str]
) -> Permissions:
    """Permissions for a recorded configuration in which the user has `changed` these paths.

    A server or a proxy that the user names may get variables as in the user's own configuration. A
    path is like `models[0].base_url`.
    """
    pairs = [
        demand.pair
        for field, model in models_of(configuration)
        for demand in demands_of_model(field, model)
        if isinstance(demand, Demand)
        and OWN.permits(demand)
        and demand.pair.host in _hosts_in(field, model, changed)
    ]
    return permissions.and_also(pairs)


def _hosts_in(field: str, model: Model, changed: Collection[str]) -> list[str]:
    """The hosts, of the server and the proxy, whose URLs are among the changed paths.

    `field` is the entry's place in the configuration.
    """
    urls = (("base_url", base_url_of(model)), ("proxy", model.proxy))
    return [_host(url) for key, url in urls if url is not None and f"{field}.{key}" in changed]


def option_for(demand: Demand | ClassDemand) -> str:
    """The command-line option that permits the demand: `--allow MY_KEY=models.example`."""
    if isinstance(demand, ClassDemand):
        return f"{ALLOW_CLASS} {demand.class_name}"
    return f"{ALLOW} {demand.pair}"


def options_of(permissions: Permissions) -> list[str]:
    """The command-line arguments for these permissions."""
    pairs = [word for pair in sorted(permissions.pairs) for word in (ALLOW, str(pair))]
    classes = [word for name in sorted(permissions.classes) for word in (ALLOW_CLASS, name)]
    return [*pairs, *classes]


def problem_of(demand: Demand | ClassDemand) -> Problem:
    """The demand as an error, with the option that permits it."""
    remedy = f"if that is meant: {option_for(demand)}"
    return Problem("not-allowed", demand.reason, field=demand.field, remedy=remedy)


def models_of(configuration: Configuration) -> Iterator[tuple[str, Model]]:
    """Every model and judge, with its place in the configuration."""
    for number, model in enumerate(configuration.models):
        yield model.place.entry or f"models[{number}]", model
    if configuration.judge is not None:
        yield "judge", configuration.judge
    for number, judge in enumerate(configuration.judges or ()):
        yield judge.place.entry or f"judges[{number}]", judge


def _secret_names(model: Model) -> list[str]:
    """The secret variables of the entry, and the name of its library's token."""
    library = model.options.get(CREDENTIALS)
    token = [credentials_name(library)] if isinstance(library, str) else []
    return list(dict.fromkeys([*secret_variables(model), *token]))


def _reading_hosts(model: Model) -> Iterator[tuple[str, bool]]:
    """Each host that can read the entry's secrets, and whether it is the server itself."""
    url = base_url_of(model)
    if url is None:
        yield model.class_ or provider_type(model.provider).server(model), True
        return
    yield _host(url), True
    read_on_the_way = urlsplit(url).scheme != "https" or model.ca_file is not None
    if model.proxy is not None and read_on_the_way:
        yield _host(model.proxy), False


def _is_vendors_own(variable: str, model: Model) -> bool:
    url = base_url_of(model)
    if (vendor := vendor_of(variable)) is not None:
        return vendor.owns(url)
    if is_secret_of_others(variable):
        return False
    # An installed provider of a vendor that the table lacks knows its own host.
    kind = provider_type(model.provider)
    return url is not None and kind.default_key_variable(model.base_url) == variable


def _field_of(variable: str, model: Model) -> str:
    if variable == model.api_key_env:
        return "api_key_env"
    return "headers" if variable in model.headers.values() else "options"


def _host(url: str) -> str:
    """Host and port of the URL, without user and password."""
    return urlsplit(url).netloc.rpartition("@")[2].lower()


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host
