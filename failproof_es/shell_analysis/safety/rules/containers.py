"""Containers with access to the host; other containers are isolated and not judged."""

from __future__ import annotations

import re
from collections.abc import Iterator

from failproof_es.shell_analysis.safety.commands import ShellCommand
from failproof_es.shell_analysis.safety.files.places import Extent, extent, locate
from failproof_es.shell_analysis.safety.options import ParsedOptions, Syntax, option_kinds
from failproof_es.shell_analysis.safety.text import marks
from failproof_es.shell_analysis.safety.wrapping.inner_commands import readings, subcommands
from failproof_es.shell_analysis.safety.wrapping.wrapper_table import Wrapper, wrapper_table

_PROGRAMS = frozenset({"docker", "docker-compose", "podman", "nerdctl"})
_RUN = Wrapper(
    Syntax(
        option_kinds(
            "a:c:de:h:il:m:p:Pqtu:v:w:",
            """add-host= annotation= arch= attach= authfile= blkio-weight= blkio-weight-device=
            build cap-add= cap-drop= cgroup-conf= cgroup-parent= cgroupns= cgroups= cidfile=
            conmon-pidfile= cpu-period= cpu-quota= cpu-rt-period= cpu-rt-runtime= cpu-shares= cpus=
            cpuset-cpus= cpuset-mems= creds= detach detach-keys= device= device-cgroup-rule=
            device-read-bps= device-read-iops= device-write-bps= device-write-iops=
            disable-content-trust dns= dns-opt= dns-option= dns-search= domainname= entrypoint=
            env= env-file= env-host expose= gidmap= gpus= group-add= group-entry= health-cmd=
            health-interval= health-retries= health-start-interval= health-start-period=
            health-timeout= help hostname= hostuser= http-proxy image-volume= init init-path=
            interactive ip= ip6= ipc= isolation= kernel-memory= label= label-file= link=
            link-local-ip= log-driver= log-opt= mac-address= memory= memory-reservation=
            memory-swap= memory-swappiness= mount= name= net= net-alias= network= network-alias=
            no-deps no-healthcheck no-hosts oom-kill-disable oom-score-adj= os= passwd
            passwd-entry= personality= pid= pidfile= pids-limit= platform= pod= pod-id-file=
            preserve-fd= preserve-fds= privileged publish= publish-all pull= quiet quiet-pull
            read-only read-only-tmpfs remove-orphans replace requires= restart= rm rmi rootfs
            runtime= sdnotify= seccomp-policy= secret= security-opt= service-ports shm-size=
            sig-proxy stop-signal= stop-timeout= storage-opt= subgidname= subuidname= sysctl=
            systemd= timeout= tls-verify tmpfs= tty tz= uidmap= ulimit= umask= unsetenv=
            unsetenv-all use-aliases use-api-socket user= userns= uts= variant= volume=
            volume-driver= volumes-from= workdir=""",
        ),
        called={"-v": "--volume"},
        style="go",
        operands=1,
    )
)
"""`docker run` and `create`, and their kin in podman, nerdctl and compose."""

_HOLDS_ROOT = re.compile(
    r"(etc|boot|dev)(/.*)?"
    r"|(var/)?run(/(docker|podman/podman|crio/crio|(k3s/)?containerd/containerd)\.sock)?"
)
"""Paths that give a container root on the host: by writing there or through a socket."""
_HARMLESS = frozenset({"/etc/localtime", "/etc/timezone"})
_DISK = r"/dev/(sd|hd|vd|xvd|nvme|mmcblk|dm-|mapper/|disk/|mem\b|kmem\b)"
_LEAVES = re.compile(
    r"(?<![\w.-])(nsenter|chroot|pivot_root|mount|losetup|fdisk|debugfs|insmod|modprobe|kexec)"
    rf"(?![\w.-])|release_agent|{_DISK}|/proc/(1/|sysrq-trigger|sys/kernel/)"
)
"""Programs and paths by which a privileged container reaches the host."""
_STRONG = frozenset({"ALL", "SYS_ADMIN", "SYS_PTRACE", "SYS_MODULE"})


def has_the_host(command: ShellCommand) -> bool:
    """Whether the command starts a container that can act as root on the host."""
    return command.name in _PROGRAMS and any(map(_reaches_host, _read_containers(command)))


def _read_containers(command: ShellCommand) -> Iterator[ParsedOptions]:
    """The arguments of each container that the command starts or creates: options and command."""
    for words in subcommands(wrapper_table()["docker options"], command.arguments):
        if words[:1] in (("run",), ("create",)):
            yield from readings(_RUN, words[1:])


def _reaches_host(started: ParsedOptions) -> bool:
    if any(map(_gives_root, _mounted_paths(started))):
        return True
    if any(re.match(_DISK, device) for device in started.values("--device")):
        return True
    privileged = any(name == "--privileged" and value != "false" for name, value in started.options)
    added = {capability.upper().removeprefix("CAP_") for capability in started.values("--cap-add")}
    if "host" in started.values("--pid") and (privileged or added & _STRONG):
        return True
    runs = marks.plain(" ".join([*started.values("--entrypoint"), *started.words]))
    return privileged and bool(_LEAVES.search(runs))


def _mounted_paths(started: ParsedOptions) -> list[str]:
    """The absolute paths of the host that a container mounts, without harmless ones."""
    volumes = [volume.partition(":")[0] for volume in started.values("--volume")]
    for mount in started.values("--mount"):
        volumes += re.findall(r"(?:src|source)=([^,]+)", mount)
    return [path for path in volumes if path.startswith("/") and path not in _HARMLESS]


def _gives_root(path: str) -> bool:
    place = locate(path)
    return extent(path) is Extent.ROOT or (
        place.base == "/" and bool(_HOLDS_ROOT.fullmatch(place.rest))
    )
