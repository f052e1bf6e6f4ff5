"""`find`: paths in order, an expression as a tree, tests between two actions in any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from failproof_es.shell_analysis.equivalence.arguments import UnreadableArguments
from failproof_es.shell_analysis.equivalence.statements import Statements
from failproof_es.shell_analysis.equivalence.words import (
    Active,
    Form,
    Word,
    in_order,
    is_number,
    literal,
)

_SYNONYMS = {
    "-not": "!", "-and": "-a", "-or": "-o", "-mount": "-xdev", "-d": "-depth",
    "-wholename": "-path", "-iwholename": "-ipath",
}  # fmt: skip
_SETTINGS = {
    "-depth": 0, "-maxdepth": 1, "-mindepth": 1, "-xdev": 0, "-noleaf": 0, "-warn": 0, "-nowarn": 0,
    "-ignore_readdir_race": 0, "-noignore_readdir_race": 0,
}  # fmt: skip
_TESTS = {
    "-amin": 1, "-anewer": 1, "-atime": 1, "-cmin": 1, "-cnewer": 1, "-context": 1, "-ctime": 1,
    "-empty": 0, "-executable": 0, "-false": 0, "-fstype": 1, "-gid": 1, "-group": 1, "-ilname": 1,
    "-iname": 1, "-inum": 1, "-ipath": 1, "-iregex": 1, "-links": 1, "-lname": 1, "-mmin": 1,
    "-mtime": 1, "-name": 1, "-newer": 1, "-nogroup": 0, "-nouser": 0, "-path": 1, "-perm": 1,
    "-readable": 0, "-regex": 1, "-samefile": 1, "-size": 1, "-true": 0, "-type": 1, "-uid": 1,
    "-used": 1, "-user": 1, "-writable": 0, "-xtype": 1,
}  # fmt: skip
_POSITIONAL = {"-follow": 0, "-regextype": 1, "-prune": 0, "-quit": 0}
_ACTIONS = {"-print": 0, "-print0": 0, "-printf": 1, "-delete": 0, "-ls": 0, "-fls": 1,
            "-fprint": 1, "-fprint0": 1, "-fprintf": 2}  # fmt: skip
_RUNNING = {"-exec", "-execdir", "-ok", "-okdir"}
_TRUE: Form = ("true",)
_NAME = Active("name put in by find")


def normal_find(name: str, program: str, words: Sequence[Word], statements: Statements) -> Form:
    """The normal form of a `find` command.

    Raises `UnreadableArguments` for an expression that ends early, is computed or has an unknown
    part.
    """
    pending = list(words)
    flags: list[Form] = []
    while pending and (
        pending[0].text in ("-H", "-L", "-P") or pending[0].start[:2] in ("-O", "-D")
    ):
        flags.append(pending.pop(0))
    paths: list[Word] = []
    while pending and not _begins_expression(pending[0]):
        paths.append(pending.pop(0))
    parser = _Parser(pending, statements)
    expression = parser.expression() if pending else _TRUE
    if not parser.acts:
        expression = _and([expression, ("action", "-print")])
    settings = in_order(parser.settings.items())
    links = [flag for flag in flags if flag != literal("-P")] if len(flags) < 2 else flags
    return ("find", name, tuple(links), tuple(paths) or (literal("."),), settings, expression)


def _begins_expression(word: Word) -> bool:
    return word.start.startswith("-") or word.text in ("(", ")", "!", ",")


class _Parser:
    """Recursive descent over the words of an expression, loosest operator first."""

    def __init__(self, words: Sequence[Word], statements: Statements) -> None:
        self._words = list(words)
        self._statements = statements
        self.acts = False
        self.settings: dict[str, tuple[Word, ...]] = {}

    def expression(self) -> Form:
        form = self._comma()
        if self._words:
            raise UnreadableArguments(f"{self._peek()} out of place")
        return form

    def _peek(self) -> str | None:
        if not self._words:
            return None
        text = self._words[0].text
        return _SYNONYMS.get(text, text) if text is not None else ""

    def _separated(self, sign: str, operand: Callable[[], Form]) -> list[Form]:
        forms = [operand()]
        while self._peek() == sign:
            self._take_word()
            forms.append(operand())
        return forms

    def _comma(self) -> Form:
        forms = self._separated(",", self._or)
        return forms[0] if len(forms) == 1 else (",", *forms)

    def _or(self) -> Form:
        return _or(self._separated("-o", self._and))

    def _and(self) -> Form:
        forms = [self._factor()]
        while (following := self._peek()) not in (None, "-o", ",", ")"):
            if following == "-a":
                self._take_word()
            forms.append(self._factor())
        return _and(forms)

    def _factor(self) -> Form:
        operator = self._peek()
        if operator == "!":
            self._take_word()
            return _not(self._factor())
        if operator == "(":
            self._take_word()
            form = self._comma()
            if self._peek() != ")":
                raise UnreadableArguments("a parenthesis that is not closed")
            self._take_word()
            return form
        return self._primary()

    def _primary(self) -> Form:
        primary = self._peek()
        if not primary:
            raise UnreadableArguments("an expression that ends early or is computed")
        self._take_word()
        if primary in _SETTINGS:
            values = self._take_values(_SETTINGS[primary])
            if self.settings.setdefault(primary, values) != values:
                raise UnreadableArguments(f"{primary} twice")
            return _TRUE
        if primary in _TESTS or primary.startswith("-newer"):
            return _test_form(primary, self._take_values(_TESTS.get(primary, 1)))
        if primary in _POSITIONAL:
            self.acts = self.acts or primary == "-quit"
            return ("positional", primary, *self._take_values(_POSITIONAL[primary]))
        if primary in _ACTIONS:
            self.acts = True
            if primary == "-delete":
                self.settings["-depth"] = ()
            return ("action", primary, *self._take_values(_ACTIONS[primary]))
        if primary in _RUNNING:
            self.acts = True
            return self._exec_action(primary)
        raise UnreadableArguments(primary)

    def _exec_action(self, action: str) -> Form:
        command: list[Word] = []
        while True:
            word = self._take_word()
            if word.text == ";":
                break
            if word.text == "+" and command and command[-1].text == "{}":
                action += " +"
                break
            command.append(word)
        if not command:
            raise UnreadableArguments(f"{action} without a command")
        template = [word.substituted("{}", _NAME) for word in command]
        return ("action", action, self._statements.call(template))

    def _take_word(self) -> Word:
        if not self._words:
            raise UnreadableArguments("an expression that ends early")
        return self._words.pop(0)

    def _take_values(self, count: int) -> tuple[Word, ...]:
        values = tuple(self._take_word() for _ in range(count))
        if any(value.may_be_several for value in values):
            raise UnreadableArguments("a value that may become several words")
        return values


def _test_form(name: str, values: tuple[Word, ...]) -> Form:
    text = values[0].text if values else None
    if name in ("-type", "-xtype") and text is not None and "," in text:
        return _or([("test", name, literal(letter)) for letter in text.split(",")])
    if name == "-true":
        return _TRUE
    if name == "-perm" and text is not None and is_number(text.lstrip("-/")):
        sign = text[: len(text) - len(text.lstrip("-/"))]
        return ("test", name, literal(sign + (text.lstrip("-/").lstrip("0") or "0")))
    if name == "-size" and text is not None and is_number(text[-1:]):
        return ("test", name, literal(text + "b"))
    return ("test", name, *values)


def _is_pure(form: Form) -> bool:
    """Whether evaluating the form has no effect but its value."""
    match form:
        case ("test", *_) | ("true",):
            return True
        case ("not", inner):
            return _is_pure(inner)
        case ("and" | "or", *inner):
            return all(map(_is_pure, inner))
    return False


def _not(form: Form) -> Form:
    """The negation, moved inward to the tests (De Morgan's laws)."""
    match form:
        case ("not", inner):
            return inner
        case ("and", *inner):
            return _or([_not(operand) for operand in inner])
        case ("or", *inner):
            return _and([_not(operand) for operand in inner])
    return ("not", form)


def _and(forms: Sequence[Form]) -> Form:
    parts = [part for form in forms for part in _operands_of("and", form) if part != _TRUE]
    return _chain("and", parts) if parts else _TRUE


def _or(forms: Sequence[Form]) -> Form:
    return _chain("or", [part for form in forms for part in _operands_of("or", form)])


def _operands_of(operator: str, form: Form) -> tuple[Form, ...]:
    match form:
        case (str(kind), *inner) if kind == operator:
            return tuple(inner)
    return (form,)


def _chain(operator: str, parts: Sequence[Form]) -> Form:
    """The form of operands joined by `operator`; those without effects are sorted, but never moved
    past one with an effect."""
    if len(parts) == 1:
        return parts[0]
    settled: list[Form] = []
    run: list[Form] = []
    for part in parts:
        if _is_pure(part):
            run.append(part)
            continue
        settled += [*in_order(run), part]
        run = []
    return (operator, *settled, *in_order(run))
