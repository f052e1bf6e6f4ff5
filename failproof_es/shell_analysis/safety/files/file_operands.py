"""Finds the operands and options that name files a program writes.

One table for all rules. Operands that are not listed are read, or are no files: `split FILE PREFIX`
reads the first operand and writes names that begin with the second.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from failproof_es.shell_analysis.safety.commands import ShellCommand
from failproof_es.shell_analysis.safety.files.find_command import reaches_deep
from failproof_es.shell_analysis.safety.files.places import Extent, extent
from failproof_es.shell_analysis.safety.options import ParsedOptions
from failproof_es.shell_analysis.safety.program_table import program, read
from failproof_es.shell_analysis.safety.text import marks
from failproof_es.shell_analysis.safety.text.code import RENAMERS, program_text
from failproof_es.shell_analysis.safety.text.output import output_files


@dataclass(frozen=True, slots=True)
class WriteOperands:
    """The arguments of a program that are files it writes.

    `operands` is a slice of its operands, `options` the options whose values are such files.
    """

    operands: slice | None = None
    options: tuple[str, ...] = ()
    only_with: tuple[str, ...] = ()
    """The operands are written only if one of these is given."""
    unless: tuple[str, ...] = ()
    """Only the options' values are written if one of these is given."""
    reads_with: tuple[str, ...] = ()
    """Options in whose presence the program writes no file."""

    def paths(self, parsed: ParsedOptions) -> list[str]:
        """The files that a command line with these arguments writes."""
        if self.reads_with and parsed.has(*self.reads_with):
            return []
        paths = parsed.values(*self.options)
        operands = self.operands
        if self.only_with and not parsed.has(*self.only_with):
            operands = None
        if self.unless and parsed.has(*self.unless):
            operands = None
        return paths + list(parsed.words[operands] if operands else ())


_ALL, _FIRST, _SECOND, _REST = slice(None), slice(1), slice(1, 2), slice(1, None)
_COMPRESSES = WriteOperands(_ALL, ("-o", "--output-dir-flat"), reads_with=("-c", "-l", "-t"))
_TABLE: dict[str, WriteOperands] = {
    **dict.fromkeys(
        ("tee", "sponge", "fallocate", "mkfile", "truncate", "dos2unix", "unix2dos"),
        WriteOperands(_ALL),
    ),
    **dict.fromkeys(
        ("gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "lzma", "zstd", "unzstd", "lz4",
         "compress"),
        _COMPRESSES,
    ),
    **dict.fromkeys(
        ("gcc", "g++", "cc", "clang", "ld", "ld.bfd", "as", "sort", "shuf"),
        WriteOperands(options=("-o",)),
    ),
    **dict.fromkeys(("iconv", "pandoc", "pv"), WriteOperands(options=("-o", "--output"))),
    **dict.fromkeys(
        ("mysqldump", "mariadb-dump"), WriteOperands(options=("-r", "--result-file"))
    ),
    **dict.fromkeys(("uniq", "xxd", "split"), WriteOperands(_SECOND)),
    **dict.fromkeys(("convert", "link"), WriteOperands(_REST)),
    **dict.fromkeys(("zip", "script"), WriteOperands(_FIRST)),
    "strip": WriteOperands(_ALL, ("-o",), unless=("-o",)),
    "objcopy": WriteOperands(slice(-1, None)),
    "csplit": WriteOperands(options=("-f",)),
    "patch": WriteOperands(_FIRST, ("-o", "-r"), unless=("-o",), reads_with=("--dry-run",)),
    "unzip": WriteOperands(options=("-d",), reads_with=("-l", "-t", "-p", "-v")),
    "htpasswd": WriteOperands(_FIRST, reads_with=("-n",)),
    "ssh-keygen": WriteOperands(
        options=("-f",), reads_with=("-l", "-y", "-B", "-F", "-H", "-i", "-e")
    ),
    "pg_dump": WriteOperands(options=("-f", "--file")),
    "pg_dumpall": WriteOperands(options=("-f",)),
    "yq": WriteOperands(_REST, only_with=("-i", "--inplace")),
}  # fmt: skip


def written_operands(command: ShellCommand) -> list[str]:
    """The files that a command writes by its own operands and options (not by redirection)."""
    name = program(command.name)
    special = _SPECIAL.get(name)
    if special is not None:
        return special(command, read(command))
    entry = _TABLE.get(name)
    if entry is not None:
        paths = entry.paths(read(command))
        if entry is _COMPRESSES:  # files that `find` passes keep their content, under another name
            return [path for path in paths if not reaches_deep(path)]
        return paths
    return output_files(command)


def emptied_operands(command: ShellCommand) -> list[str]:
    """The operands of a command that are files whose content it removes, whatever it is."""
    name = program(command.name)
    parsed = read(command)
    match name:
        case "truncate":
            cuts = any(value[:1] not in ("+", ">", "%") for value in parsed.values("-s"))
            return list(parsed.words) if cuts else []
        case "fallocate":
            digs = parsed.has("-p", "-z", "-c", "--punch-hole", "--zero-range", "--collapse-range")
            return list(parsed.words) if digs else []
        case "cp" | "install" | "ln" | "rsync" | "mv" if "/dev/null" in parsed.words[:-1]:
            return written_operands(command)
        case "ln" | "cp" if parsed.words == ("/dev/null",):
            return written_operands(command)
        case "tee" | "sponge":
            return [] if parsed.has("-a", "--append") else list(parsed.words)
        case "dd":
            keeps = any("notrunc" in word or "append" in word for word in command.arguments)
            return [] if keeps else written_operands(command)
        case "sort" if parsed.words and set(parsed.words) == {"/dev/null"}:
            return written_operands(command)
        case "sed" if _deletes_all_lines(parsed):
            return written_operands(command)
        case "perl" | "ruby" if _prints_nothing(command):
            return written_operands(command)
        case "ex" | "vi" | "vim" | "nvim" | "ed":
            script = "\n".join([*command.arguments, command.feed.text or ""])
            return list(parsed.words) if _EDITOR_DELETES.search(marks.plain(script)) else []
        case "awk" | "gawk" | "mawk" if re.search(r">\s*\(?FILENAME", program_text(command)):
            return list(parsed.words[1:])
        case _:
            return []


_EDITOR_DELETES = re.compile(r"(^|[\s:|+\"'])(%|1,\$|,)\s*d(elete)?\b", re.MULTILINE)
_EVERY_LINE = re.compile(
    r"\{?\s*(1\s*,\s*\$|0\s*,\s*//|/(\^|\$|\^?\.\*\$?)?/)?\s*[dDQ]\s*;?\s*\}?"
    r"|s(.)\^?\.[*+]\$?\3\3[gmMI]*|\$!?\s*N?;?\s*d;\s*d"
)


_PERL_BLANKS = re.compile(
    r"(\$_\s*=\s*(\"\"|''|undef)|undef\s*\$_|s(?P<edge>.)\.\*(?P=edge){2}s?)\s*;?"
)


def _scripts(parsed: ParsedOptions) -> list[str]:
    return parsed.values("-e") or ([] if parsed.has("-f") else list(parsed.words[:1]))


def _deletes_all_lines(parsed: ParsedOptions) -> bool:
    """Whether `sed` prints nothing of its input: `d`, `1,$d`, `s/.*//`, `-n` without `p`."""
    scripts = [marks.plain(script).strip() for script in _scripts(parsed)]
    silent = parsed.has("-n") and not parsed.has("-f")
    if silent and not any(re.search(r"[pPwMceil=]", script) for script in scripts):
        return True
    return any(_EVERY_LINE.fullmatch(script) for script in scripts)


def _prints_nothing(command: ShellCommand) -> bool:
    """Whether code edits in place and prints nothing: `perl -ni -e 'code without a print'`."""
    letters = "".join(re.findall(r"(?<!\S)-([A-Za-z]+)", " ".join(command.arguments[:3])))
    code = program_text(command)
    if "i" not in letters:
        return False
    if "p" in letters:
        return bool(_PERL_BLANKS.fullmatch(code.strip()))
    return "n" in letters and not re.search(r"\b(print|puts|say|printf|p)\b|\$\.", code)


def _copy_target(command: ShellCommand, parsed: ParsedOptions) -> list[str]:
    """The target of `cp`, `mv`, `install`; empty if it is a backup beside the original."""
    if targets := parsed.values("-t"):
        return targets
    if command.name.endswith("install") and parsed.has("-d"):
        return []
    if len(parsed.words) < 2:
        return []
    *sources, target = parsed.words
    backup = any(
        target != source
        and target.startswith(source)
        and target[len(source) :][:1] in ("", ".", "-", "_", "~")
        for source in sources
    )
    return [] if backup else [target]


def _link_name(command: ShellCommand, parsed: ParsedOptions) -> list[str]:
    """The name that `ln` makes, or the folder of `-t`.

    Empty for `ln TARGET`, whose link is in the current folder.
    """
    if targets := parsed.values("-t"):
        return targets
    return list(parsed.words[-1:]) if len(parsed.words) > 1 else []


def _copied_to_here(command: ShellCommand, parsed: ParsedOptions) -> list[str]:
    target = parsed.words[-1:] if len(parsed.words) > 1 else ()
    return [path for path in target if ":" not in path]


def _after_script(command: ShellCommand, parsed: ParsedOptions) -> list[str]:
    """The files that `sed -i` edits: every operand but the script; empty without `-i`."""
    if not parsed.has("-i") and not command.has("I"):
        return []
    return list(parsed.words[0 if parsed.has("-e", "-f") else 1 :])


def _after_code(command: ShellCommand, parsed: ParsedOptions) -> list[str]:
    """The files that `perl -i -pe code files` and similar edit; empty without `-i`."""
    changes = any(re.match(r"-\w*i", word) for word in command.arguments)
    return command.operands_without("eE") if changes else []


def _archive_paths(command: ShellCommand, parsed: ParsedOptions) -> list[str]:
    """The archive that `tar` makes, or the folder into which it unpacks; empty for any other
    use."""
    first = command.arguments[0] if command.arguments else ""
    bundle = first if first and "=" not in first and not first.startswith("--") else ""
    letters = bundle.lstrip("-") if re.fullmatch(r"-?[A-Za-z]+", bundle) else ""
    if parsed.has("-x", "--extract", "--get") or "x" in letters:
        return parsed.values("-C") or command.values("C", "--directory")
    if parsed.has("-c", "--create", "-r", "--append", "-u", "--update") or set(letters) & set(
        "cru"
    ):
        made = command.values("f", "--file")
        if "f" in letters and not bundle.startswith("-"):
            valued = [letter for letter in letters if letter in "fCXTVbIgHLNK"]
            made = list(command.arguments[1 + valued.index("f") :][:1])
        return [path for path in made if path != "-" and ":" not in path]
    return []


def _seven_zip(command: ShellCommand, parsed: ParsedOptions) -> list[str]:
    words = parsed.words
    unpacked = [word[2:] for word in command.arguments if word.startswith("-o") and len(word) > 2]
    return list(words[1:2]) if words[:1] in (("a",), ("u",), ("d",)) else unpacked


def _image_target(command: ShellCommand, parsed: ParsedOptions) -> list[str]:
    return [*parsed.words[1:2], *command.values("o", "--output", "--overwrite")]


def _mounted_over(command: ShellCommand, parsed: ParsedOptions) -> list[str]:
    """The folder of the system that a mount hides; empty if the mount point is an ordinary one."""
    target = parsed.words[-1:] if len(parsed.words) > 1 else ()
    return [
        path
        for path in target
        if path != "/" and extent(path) is Extent.SYSTEM and not _MOUNT_POINT.match(path)
    ]


_MOUNT_POINT = re.compile(r"/(mnt|media|proc|sys|dev|run|tmp|boot/efi|var/\w+|home|opt|srv)\b")


def _edited_files(command: ShellCommand, parsed: ParsedOptions) -> list[str]:
    return list(parsed.words) if command.feed.text or command.has("sc") else []


def _renamed_files(command: ShellCommand, parsed: ParsedOptions) -> list[str]:
    """The operands of `rename`, which are old names, without the expression before them.

    Empty if it only prints what it would do.
    """
    if parsed.has("-n", "--nono", "--no-act", "--dry-run", "--just-print"):
        return []
    return list(parsed.words[0 if parsed.has("-e", "--expr") else 1 :])


_Reader = Callable[[ShellCommand, ParsedOptions], list[str]]
_SPECIAL: dict[str, _Reader] = {
    **dict.fromkeys(
        ("dd", "dcfldd", "dc3dd"),
        lambda command, _: [word[3:] for word in command.arguments if word.startswith("of=")],
    ),
    **dict.fromkeys(("cp", "mv", "install", "pcp", "xcp"), _copy_target),
    **dict.fromkeys(("rsync", "scp"), _copied_to_here),
    **dict.fromkeys(("perl", "ruby"), _after_code),
    **dict.fromkeys(("tar", "bsdtar"), _archive_paths),
    **dict.fromkeys(("7z", "7za", "7zr"), _seven_zip),
    **dict.fromkeys(("ddrescue", "partclone.restore", "ntfsclone"), _image_target),
    **dict.fromkeys(("ed", "ex", "vim", "vi"), _edited_files),
    **dict.fromkeys(
        ("awk", "gawk"),
        lambda command, parsed: list(parsed.words[1:]) if "inplace" in command.arguments else [],
    ),
    **dict.fromkeys(RENAMERS, _renamed_files),
    "ln": _link_name,
    "sed": _after_script,
    "mount": _mounted_over,
    "touch": lambda _, parsed: [path for path in parsed.words if "nologin" in path],
}
