"""Overwriting or formatting disks: DISK_OVERWRITE, DISK_FORMAT."""

from __future__ import annotations

import re
from collections.abc import Callable

from failproof_es.shell_analysis.safety.commands import ShellCommand
from failproof_es.shell_analysis.safety.files.places import is_disk
from failproof_es.shell_analysis.safety.rules.writing import written_paths
from failproof_es.shell_analysis.safety.text import marks

_MAKERS = re.compile(
    r"mkfs(\..+)?|mke2fs|mkdosfs|mkntfs|mkswap|newfs(_\w+)?|mkudffs|mkreiserfs|format"
    r"|jfs_mkfs|mkbtrfs"
)


def _any_disk(command: ShellCommand) -> bool:
    return any(is_disk(path, command.cwd) for path in command.operands)


def _starts(*verbs: str) -> Callable[[ShellCommand], bool]:
    return lambda command: command.operands[:1] != () and command.operands[0] in verbs


def _mentions(pattern: str) -> Callable[[ShellCommand], bool]:
    compiled = re.compile(pattern)
    return lambda command: bool(compiled.search(" ".join(command.arguments)))


_FORMATTERS: dict[str, Callable[[ShellCommand], bool]] = {
    **dict.fromkeys(
        ("cfdisk", "cgdisk", "pvcreate", "sg_format", "sg_sanitize", "blkdiscard", "growfs"),
        _any_disk,
    ),
    **dict.fromkeys(
        ("lvremove", "vgremove", "pvremove", "flash_erase", "flash_eraseall"),
        lambda c: bool(c.operands),
    ),
    "fdisk": lambda c: _any_disk(c) and not c.has("ls", "--list"),
    "sfdisk": lambda c: _any_disk(c)
    and not c.has("ldVsg", "--list", "--dump", "--verify", "--show-size", "--json"),
    "gdisk": lambda c: _any_disk(c) and not c.has("l"),
    "sgdisk": lambda c: _any_disk(c) and not (c.has("piv") and not c.has("ZzodnGg", "--zap-all")),
    "parted": lambda c: _any_disk(c)
    and bool(re.search(r"mklabel|mktable|mkpart|\brm\b|resizepart|mkfs", " ".join(c.arguments))),
    "wipefs": lambda c: c.has("aof", "--all", "--offset", "--force") and not c.has("n", "--no-act"),
    "cryptsetup": _mentions(r"luksFormat|\berase\b|luksErase|reencrypt|luksKillSlot|luksRemoveKey"),
    "vgreduce": _mentions("removemissing|--all"),
    "lvm": _starts("lvremove", "vgremove", "pvremove", "pvcreate"),
    "dmsetup": _starts("remove_all", "wipe_table"),
    "mdadm": _mentions(r"--zero-superblock|--create|-C\b|--remove|--stop"),
    "zpool": _starts("destroy", "labelclear", "create"),
    "zfs": _starts("destroy", "rollback"),
    "btrfs": _mentions(r"subvolume delete|device (remove|delete)|replace start"),
    "diskutil": _mentions(r"(?i)erase|partitionDisk|zeroDisk|randomDisk|secureErase|deleteVolume"
                          r"|deleteContainer|reformat"),
    "nvme": _starts("format", "sanitize", "write-zeroes", "delete-ns"),
    "hdparm": _mentions(r"--security-(erase|set-pass)|--trim-sector|--make-bad|--write-sector"
                        r"|--repair-sector|--dco-restore|--fwdownload"),
    "badblocks": lambda c: c.has("w") and _any_disk(c),
    "debugfs": lambda c: c.has("w"),
    "flashrom": lambda c: c.has("wE"),
    **dict.fromkeys(("mtd", "mtd_debug"), _starts("erase", "write")),
    "efibootmgr": lambda c: c.has("B"),
    "tune2fs": lambda c: c.has("O") and _any_disk(c),
    "xfs_repair": lambda c: c.has("L"),
    "multipath": lambda c: c.has("F"),
    "fastboot": _starts("erase", "flash", "format", "-w"),
    "bcdedit": lambda c: bool(c.arguments),
    "diskpart": lambda c: True,
}  # fmt: skip
_WIPERS = frozenset({"shred", "gshred", "wipe", "scrub", "srm", "nwipe", "dban"})


def formats_disk(command: ShellCommand) -> bool:
    """Whether the command creates a file system, partition table or volume where data may be."""
    made = _MAKERS.fullmatch(command.name) and not command.has("nNV", "--help", "--version")
    if made and _makes_on_device(command):
        return True
    rule = _FORMATTERS.get(command.name)
    return rule is not None and rule(command)


def _makes_on_device(command: ShellCommand) -> bool:
    """Whether the target is a device or unknown; a file system in an ordinary file is harmless."""
    operands = command.operands_without("tLbiImNoOTUEdJgGrCcsDR")
    paths = [path for path in operands if not path.isdigit()]
    return any(is_disk(path, command.cwd) or not marks.is_known(path) for path in paths)


def overwrites_disk(command: ShellCommand) -> bool:
    """Whether the command writes directly to a device."""
    paths = written_paths(command)
    if command.name in _WIPERS:
        paths += command.operands_without("nspbDX")
    return any(is_disk(path, command.cwd) for path in paths)
