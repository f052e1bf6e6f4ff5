"""Maps a record of a table or a data set, of any file format, to a case. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from failproof_es.core.case import Role, Turn
from failproof_es.core.severity import TAG, WORDS_OF_CASES, severity_named
from failproof_es.dialects.kit.foreign_names import known_name
from failproof_es.importers.choices import check_of_choice, options_of, with_options
from failproof_es.importers.matching import WORDS, AnswerMatch, RowExpectation, match_of
from failproof_es.importers.protocol import Findings, ImportedCase, Options, Place
from failproof_es.importers.record_values import (
    UnusableRecord,
    is_nan,
    parse_json,
    plain_text_of,
    require_text,
    split_texts,
    text_of,
    texts_of,
    without_point,
)
from failproof_es.problems import Problems

_NUMBERS = ("", *map(str, range(2, 10)))
"""The suffix of `expected` and `match` for a further expectation."""
_ONCE = ("prompt", "id", "system", "choices", "tags", "suite", "severity", "metadata")
ROLES = (*_ONCE, *(f"{role}{number}" for role in ("expected", "match") for number in _NUMBERS))
"""The roles that a column can have."""
_ROLES_IN_WORDS = f"{', '.join(_ONCE)}, expected, match, expected2, match2 and so on to 9"
_MISSING_VALUES = frozenset(
    {
        *("NaN", "nan", "-NaN", "-nan", "NAN", "None", "none", "NONE", "null", "NULL", "Null"),
        *(
            "NA",
            "N/A",
            "n/a",
            "<NA>",
            "NaT",
            "#N/A",
            "#NA",
            "#VALUE!",
            "#REF!",
            "#DIV/0!",
            "#NULL!",
        ),
        *("1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN", "undefined", "inf", "-inf"),
    }
)
"""The words of pandas, spreadsheets and databases for an empty cell."""
_LONGEST_TAG = 100
_LOOKS_LIKE_REGEX = (
    "looks like a regular expression, and is compared as a text (name the match `regex`)"
)
_FIELDS_OF_MESSAGE = frozenset({"role", "content", "id"})
"""Fields of a message that need no note. An `id` is only a label."""


@dataclass(frozen=True, slots=True)
class ColumnMap:
    """The column of each role of a case, or a dotted path in a column.

    `match` is the word for the comparison with the expected answer where no column has one.
    """

    columns: Mapping[str, str]
    match: str
    blocking: frozenset[str] = frozenset()
    """Fields without a counterpart: a record with a value there cannot become a case."""

    def used(self, names: Sequence[str]) -> frozenset[str]:
        """The fields that are read of a record with the fields `names`."""
        paths = self.columns.values()
        first = (path if path in names else path.partition(".")[0] for path in paths)
        return self.blocking.union(first)

    def unmapped(self, names: Sequence[str]) -> list[str]:
        """The ignored fields of a record with the fields `names`, in the order of `names`."""
        used = self.used(names)
        return [name for name in names if name not in used]


def mapping_of(
    names: Sequence[str],
    options: Options,
    defaults: Mapping[str, str],
    match: str,
    blocking: frozenset[str] = frozenset(),
) -> ColumnMap:
    """The mapping for records with the fields `names`.

    `options` override `defaults`, the field of each role, and `match`, the comparison with the
    expected answer. A record with a value in one of `blocking` cannot become a case. Raises
    `InvalidInput` with every mistake in the options.
    """
    problems = Problems()
    columns = {role: column for role, column in defaults.items() if column in names}
    for role, column in options.columns.items():
        if role not in ROLES:
            problems.error(
                "invalid-option",
                f"--column: there is no {role!r} in a case",
                remedy=f"there are: {_ROLES_IN_WORDS}",
            )
        elif column not in names and column.partition(".")[0] not in names:
            problems.error(
                "unknown-column",
                f"--column {role}={column}: there is no such column",
                remedy=f"there are: {_list_names(names)}",
            )
        else:
            columns[role] = column
    if "prompt" not in columns and not problems.errors:
        problems.error(
            "missing-option",
            "no column is chosen for the prompt",
            remedy=f"{option_for('prompt', names)}; there are: {_list_names(names)}",
        )
    if options.match is not None and match_of(options.match) is None:
        problems.error(
            "invalid-option",
            f"--match: unknown way {options.match!r}",
            remedy=f"there are: {WORDS}",
        )
    problems.raise_errors()
    return ColumnMap(columns, options.match or match, blocking)


def option_for(role: str, names: Sequence[str]) -> str:
    """The option that chooses a role's column: of `names`, the first that may be meant."""
    meant = next((name for name in names if known_name(name, [role], ())), "COLUMN")
    return f"--column {role}={meant}"


def case_of(
    record: Mapping[str, Any], mapping: ColumnMap, place: Place, number: int, findings: Findings
) -> ImportedCase:
    """The case of one record; doubtful and unmapped values are noted in `findings`.

    `number`, from 1, is the case's id if the record has none. Raises `UnusableRecord` if the record
    cannot become a case.
    """
    for name in mapping.blocking:
        if record.get(name):
            raise UnusableRecord(
                f"`{name}` has no counterpart: a case asks a model and runs nothing", field=name
            )
    _note_doubtful(record, mapping, place, findings)
    turns = _turns(record, mapping, place, findings)
    if options := options_of(_value_of_role(record, mapping, "choices")):
        question = with_options(turns[-1].content, options)
        turns = (*turns[:-1], Turn(role="user", content=question))
        expected = _choice_expected(record, mapping, place, findings)
    else:
        expected = _expected(RowExpectation(), _NUMBERS, record, mapping, place, findings)
    record_id = _value_of_role(record, mapping, "id")
    suite = text_of(_value_of_role(record, mapping, "suite"), "suite")
    return ImportedCase(
        case_id=str(number) if record_id is None else text_of(record_id, "id") or str(number),
        turns=turns,
        place=place,
        checks=tuple(expected.checks),
        criteria=tuple(expected.criteria),
        tags=_tags(record, mapping, place, findings),
        suite=suite or None,
        severity=severity_named(text_of(_value_of_role(record, mapping, "severity"), "severity")),
        refusal=expected.refusal,
    )


def _choice_expected(
    record: Mapping[str, Any],
    mapping: ColumnMap,
    place: Place,
    findings: Findings,
) -> RowExpectation:
    """The expectations of a multiple choice: the chosen option, and all further ones."""
    if text_of(_value_of_role(record, mapping, "match"), "match").strip():
        column = place._replace(field=mapping.columns["match"])
        findings.note(column, "an answer has to name the letter of a choice: no match is read")
    answer, choices = (_value_of_role(record, mapping, role) for role in ("expected", "choices"))
    check = check_of_choice(answer, choices)
    return _expected(RowExpectation([check]), _NUMBERS[1:], record, mapping, place, findings)


def _expected(
    expected: RowExpectation,
    numbers: Sequence[str],
    record: Mapping[str, Any],
    mapping: ColumnMap,
    place: Place,
    findings: Findings,
) -> RowExpectation:
    """`expected` with the record's expectations of these numbers.

    Raises `UnusableRecord` if none is left of those mapped.
    """
    needs_text = (match_of(mapping.match) or AnswerMatch()).needs_text
    is_mapped = False
    for number in numbers:
        role, match_role = f"expected{number}", f"match{number}"
        is_skipped = needs_text or number != ""
        if not {role, match_role} & mapping.columns.keys() and is_skipped:
            continue
        is_mapped = True
        texts = texts_of(_value_of_role(record, mapping, role), role)
        word = text_of(_value_of_role(record, mapping, match_role), match_role).strip()
        if not any(texts) and not word and is_skipped:
            continue
        match = match_of(word or mapping.match)
        if match is None:
            raise UnusableRecord(f"the match is none of {WORDS}", role=match_role)
        if match.is_refusal and expected.refusal is match.negated:
            raise UnusableRecord("one match asks for a refusal, another for none", role=match_role)
        if match.needs_text and not any(texts):
            raise UnusableRecord("the expected answer is missing", role=role)
        column = place._replace(field=mapping.columns.get(role))
        if not match.needs_text and any(texts):
            findings.note(column, "a refusal is expected, whatever its words: the text is not read")
        if any(map(match.misreads, texts)):
            findings.note(column, _LOOKS_LIKE_REGEX)
        expected.add(match, texts)
    if is_mapped and not (expected.checks or expected.criteria or expected.refusal is not None):
        raise UnusableRecord("the expected answer is missing", role="expected")
    return expected


def _note_doubtful(
    record: Mapping[str, Any], mapping: ColumnMap, place: Place, findings: Findings
) -> None:
    """Note, in `findings`, values that probably do not mean what the source's author intended.

    For example NaN or `N/A`.
    """
    has_choices = bool(_value_of_role(record, mapping, "choices"))
    for role, column in mapping.columns.items():
        is_compared = role.startswith("expected") and not (role == "expected" and has_choices)
        value = _look_up_value(record, mapping, role)
        for part in value if isinstance(value, list | tuple) else (value,):
            if (doubt := _doubt_about(role, part, is_compared)) is not None:
                findings.note(place._replace(field=column), doubt)


def _doubt_about(role: str, value: Any, is_compared: bool) -> str | None:
    """Why a value of this role is doubtful; `None` if it is not.

    `is_compared` says that it is compared with the answer, and does not name a choice.
    """
    if is_nan(value):
        return f"the {role} is no number (NaN): it is read as missing"
    word = value.strip() if isinstance(value, str) else ""
    if word in _MISSING_VALUES:
        return f"the {role} is {word}, which programs write for a missing value: it is read as text"
    is_whole = isinstance(value, float) and value.is_integer()
    if is_compared and (is_whole or without_point(word) != word):
        return "the expected answer is a whole number with a point: without it no answer meets it"
    return None


def messages_of(value: Any, place: Place, findings: Findings) -> tuple[Turn, ...]:
    """The turns of a conversation, a list of messages; other fields are noted in `findings`.

    Raises `UnusableRecord` if a message is not plain text of system, user or assistant, or if the
    last one is not the user's.
    """
    turns = []
    for message in value:
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise UnusableRecord("a message has no `role`")
        if message["role"] not in ("system", "user", "assistant"):
            raise UnusableRecord("a message's role is none of system, user, assistant")
        if message.get("tool_calls") or message.get("function_call"):
            raise UnusableRecord("a message calls tools")
        for name in sorted(message.keys() - _FIELDS_OF_MESSAGE):
            if message[name] is not None:
                reason = f"a message's `{name[:40]}` is not sent"
                findings.note(place, reason)
        turns.append(
            Turn(role=cast(Role, message["role"]), content=_content(message.get("content")))
        )
    if not turns or turns[-1].role != "user":
        raise UnusableRecord("the conversation does not end with the user")
    return tuple(turns)


def _content(value: Any) -> str:
    if isinstance(value, list):
        if not all(isinstance(part, dict) and part.get("type") == "text" for part in value):
            raise UnusableRecord("a message holds more than text (images, audio, files)")
        return "\n".join(require_text(part.get("text"), "a message's text") for part in value)
    return require_text(value, "a message's content")


def _turns(
    record: Mapping[str, Any], mapping: ColumnMap, place: Place, findings: Findings
) -> tuple[Turn, ...]:
    prompt = _value_of_role(record, mapping, "prompt")
    if isinstance(prompt, list):
        turns = messages_of(prompt, place, findings)
    else:
        text = text_of(prompt, "prompt")
        if not text.strip():
            raise UnusableRecord("the prompt is empty", role="prompt")
        turns = (Turn(role="user", content=text),)
    system = text_of(_value_of_role(record, mapping, "system"), "system")
    return (Turn(role="system", content=system), *turns) if system.strip() else turns


def _tags(
    record: Mapping[str, Any], mapping: ColumnMap, place: Place, findings: Findings
) -> tuple[str, ...]:
    tags = split_texts(_value_of_role(record, mapping, "tags"), "tags")
    metadata = _value_of_role(record, mapping, "metadata")
    if isinstance(metadata, str) and metadata.strip():
        metadata = parse_json(metadata)
    for name, value in metadata.items() if isinstance(metadata, dict) else ():
        for text in map(plain_text_of, value if isinstance(value, list) else [value]):
            tag = "" if text is None else f"{name}:{text}"
            if 0 < len(tag) <= _LONGEST_TAG:
                tags.append(tag)
            elif value not in (None, "", [], {}):
                at = place._replace(field=f"{mapping.columns['metadata']}.{str(name)[:60]}")
                findings.note(at, "only short texts and numbers become tags")
    severity = text_of(_value_of_role(record, mapping, "severity"), "severity").strip()
    if severity:
        tags.append(f"{TAG}{severity}"[:_LONGEST_TAG])
        if severity_named(severity) is None:
            at = place._replace(field=mapping.columns["severity"])
            findings.note(at, f"the severity is none of {WORDS_OF_CASES}: it is a tag")
    return tuple(dict.fromkeys(tags))


def _value_of_role(record: Mapping[str, Any], mapping: ColumnMap, role: str) -> Any:
    """The value of a role in a record; `None` if there is none, or for NaN.

    NaN is the data frames' mark of a missing value.
    """
    value = _look_up_value(record, mapping, role)
    return None if is_nan(value) else value


def _look_up_value(record: Mapping[str, Any], mapping: ColumnMap, role: str) -> Any:
    path = mapping.columns.get(role)
    if path is None:
        return None
    if path in record:
        return record[path]
    value: Any = record
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _list_names(names: Sequence[str]) -> str:
    first_names = [name[:60] for name in names[:30]]
    more = len(names) - len(first_names)
    return ", ".join(first_names) + (f" and {more} more" if more else "")
