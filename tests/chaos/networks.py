"""Hosts that are network namespaces: each has its own interfaces, and a cable that can be pulled.

They are made with the calls of the kernel and with `ip`, and are gone with the process that made
them: nothing of the machine's own network is changed. A pulled cable drops packets and says
nothing: no end of a connection hears of it.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_NEW_NETWORK = 0x40000000
"""CLONE_NEWNET of `unshare` and `setns`."""
_OWN = "/proc/thread-self/ns/net"


class NotPermitted(Exception):
    """No network namespaces can be made here; the message says what is missing."""


class Place:
    """One host: a network namespace."""

    def __init__(self) -> None:
        """Raises `NotPermitted`."""
        before = os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC)
        try:
            _called("unshare", _NEW_NETWORK)
            self._namespace = os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC)
            _called("setns", before, _NEW_NETWORK)
        finally:
            os.close(before)
        with self.inside():
            ip("link", "set", "lo", "up")

    @property
    def path(self) -> str:
        """What `ip` calls it."""
        return f"/proc/{os.getpid()}/fd/{self._namespace}"

    @contextmanager
    def inside(self) -> Iterator[None]:
        """This thread, and each process that it starts, is on this host meanwhile."""
        before = os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC)
        try:
            _called("setns", self._namespace, _NEW_NETWORK)
            yield
        finally:
            _called("setns", before, _NEW_NETWORK)
            os.close(before)

    def close(self) -> None:
        """It is gone when its last process is."""
        with suppress(OSError):
            os.close(self._namespace)


class Networks:
    """Networks that join some hosts: each has an address in each. `with` it.

    Every network has a switch of its own, which no host is: what arrives at a port that is pulled
    out of it is dropped there.
    """

    def __init__(self, networks: int, hosts: int) -> None:
        """Raises `NotPermitted`."""
        require_permitted()
        self._switch = Place()
        self.hosts = [Place() for _ in range(hosts)]
        with self._switch.inside():
            for network in range(networks):
                ip("link", "add", f"switch{network}", "type", "bridge")
                ip("link", "set", f"switch{network}", "up")
                for number, host in enumerate(self.hosts):
                    port = self._port(network, number)
                    there = ("peer", "name", f"eth{network}", "netns", host.path)
                    ip("link", "add", port, "type", "veth", *there)
                    ip("link", "set", port, "up")
                    self.plug(network, number)
        for number, host in enumerate(self.hosts):
            with host.inside():
                for network in range(networks):
                    ip(
                        "address",
                        "add",
                        f"{self.address(network, number)}/24",
                        "dev",
                        f"eth{network}",
                    )
                    ip("link", "set", f"eth{network}", "up")

    @staticmethod
    def address(network: int, host: int) -> str:
        """Where in a network the host is: in a range that is meant for tests alone."""
        return f"198.18.{network}.{host + 1}"

    def pull(self, network: int, host: int) -> None:
        """Pull the host's cable out of a network: from now on packets are lost without a word."""
        with self._switch.inside():
            ip("link", "set", self._port(network, host), "nomaster")

    def plug(self, network: int, host: int) -> None:
        """Plug the cable in."""
        with self._switch.inside():
            ip("link", "set", self._port(network, host), "master", f"switch{network}")

    @staticmethod
    def _port(network: int, host: int) -> str:
        return f"port{network}-{host}"

    def __enter__(self) -> Networks:
        return self

    def __exit__(self, *_: object) -> None:
        for place in (*self.hosts, self._switch):
            place.close()


def ip(*arguments: str) -> None:
    """Run `ip` where this thread is. Raises `NotPermitted` with what it says."""
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NotPermitted(f"`ip {' '.join(arguments)}` says: {done.stderr.strip()}")


def require_permitted() -> None:
    """Raise `NotPermitted` where there can be no networks, before anything is made."""
    if os.geteuid() != 0:
        raise NotPermitted("network namespaces need root (CAP_SYS_ADMIN and CAP_NET_ADMIN)")
    if shutil.which("ip") is None:
        raise NotPermitted("the program `ip` is missing (package iproute2)")


def _called(name: str, *arguments: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        why = os.strerror(ctypes.get_errno())
        raise NotPermitted(
            f"{name}(CLONE_NEWNET) is refused here: {why} (CAP_SYS_ADMIN is missing)"
        )
