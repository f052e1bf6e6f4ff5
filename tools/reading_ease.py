"""How easily the docs, the commands' help and the messages are read.

    python -m tools.reading_ease                  the groups, and the worst twenty sentences
    python -m tools.reading_ease -n 60 -g docs    the worst sixty of the docs
    python -m tools.reading_ease --phrases        the phrases to be avoided that stand somewhere

The ease is Flesch's, of one sentence at a time, with the syllables of `pyphen`: 100 is very easy,
60 plain English, 30 hard. To be fair, code counts as one short word, and so does a list of code.
A term of the field (`TERMS`) counts as a word of two syllables, because its reader knows it as
one. A sentence of fewer than `FEWEST_WORDS` words has no ease: that would be its longest word's.
"""

from __future__ import annotations

import re
import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import click
from pyphen import Pyphen

from tools.sentences import Sentence, of_docs, of_help, of_messages

GROUPS = {"docs": of_docs, "help": of_help, "messages": of_messages}

FEWEST_WORDS = 6

_TERMS = """
abandoned accuracy administrator append argument artifact attribute auditor benchmark
canonical checkpoint classification classified classifier classify cluster collection column
command completion concurrency confidence configuration configure connection cosignature
database dataset definition denominator deterministic dialect digest directory duplicate
embedded encoding endpoint environment equivalence equivalent error evaluate evaluated
evaluation event evidence execute execution experiment expression extension filter follower
function generation hexadecimal identifier identity implementation installation integer
interface interpreter interval journal judgement ledger library median memory metadata
migration module object operation operator option parallel parameter parser percentage
placeholder policy prefix probability processor projection property protocol provider python
quotation recorder recovery refusal repetition replica repository reviewer sampling schema
scorer serialize severity signature specification standard statistics submission suite
superuser syntax temperature template terminal timestamp transaction transcript unicode
utility validate validation variable verdict verification verify version witness
"""
TERMS = frozenset(_TERMS.split())
"""Words of the field and of this program that its readers know as one thing."""

PHRASES = {
    r"where its record ends": "resume the run",
    r"not spoken (to|by)": "is not supported by",
    r"is a duplicate id, first used at": "duplicate id, first used at",
    r"how-manieth": "attempt",
    r"\bhold(s|ing)? (it|them|the log|the tree|each|every \w+) to\b": "check against",
    r"\b(is|are|was|were) held to\b": "is checked against",
    r"nothing stands against": "ready to run",
    r"trusts? nobody": "anyone can verify",
    r"wants? none\b": "while Retry-After runs, nothing is sent",
    r"nobody here knows": "is not recorded",
    r"may begin with is held back": "a tail that could be the start of a key is held back",
    r"vouche[sd]?\b|\bvouch\b": "prove, sign; never counts as passed",
    r"(are|is) no failures?\b": "is not a failure",
    r"every list given": "OR within a list, AND across lists",
    r"\btak(e|es|en) (it |them |the run |a run |\w+ )?up (again|where)": "resume",
    r"\bcome by\b": "how it is computed",
    r"\bcomes? to nothing\b": "fails, gives no usable reply",
    r"\bexists? not\b|\bknows? not\b": "does not exist, is not known",
    r"your own machine bears|the servers? says? what": "servers throttle you as needed",
}
"""What is not to stand in docs, help or messages, and what is better (case does not matter)."""

_NAMELIKE = re.compile(
    r"`code`|\bhttps?://\S+|--?[a-z][\w-]*|\b[\w.*-]*[_/§{}][\w./*{}-]*|\b\w+\.\w[\w.]*\b|\b[A-Z]{2,}[A-Za-z]*\b"
    r"|\b[a-z]+[A-Z]\w*|\b[A-Z][a-z]+[A-Z]\w*|\S*\d\S*"
)
_LIST = re.compile(r"\bit(?:(?:,? and|,? or|,|:| to) it)+\b")
_WORD = re.compile(r"[A-Za-z][A-Za-z'’]*")


_HYPHENATION = Pyphen(lang="en_US", left=1, right=1)


@dataclass(frozen=True, slots=True)
class Measured:
    """A sentence with its number of words, and its ease where it has enough of them."""

    sentence: Sentence
    words: int
    ease: float | None

    def __str__(self) -> str:
        ease = "   -" if self.ease is None else f"{self.ease:4.0f}"
        at = f"{self.sentence.path}:{self.sentence.line}"
        return f"{ease}  {self.words:2} words  {at}: {self.sentence.text}"


@dataclass(frozen=True, slots=True)
class Summary:
    """What a group of sentences amounts to; `worst_decile` is the ease that a tenth stays below."""

    sentences: int
    mean: float
    median: float
    worst_decile: float
    longest: int
    over_thirty: int


def measure(sentence: Sentence) -> Measured:
    """Measure one sentence, as the module says."""
    plain = _plain(sentence.prose)
    words = plain.split()
    ease = None
    if len(words) >= FEWEST_WORDS:
        syllables = sum(map(_syllables, words))
        ease = 206.835 - 1.015 * len(words) - 84.6 * syllables / len(words)
    return Measured(sentence, len(words), ease)


@cache
def _syllables(word: str) -> int:
    return len(_HYPHENATION.positions(word)) + 1


def measured(group: str) -> list[Measured]:
    """Every sentence of a group, measured, in the order in which they stand."""
    return list(map(measure, GROUPS[group]()))


def summary(sentences: Iterable[Measured]) -> Summary:
    """Sum up sentences; raises `StatisticsError` if fewer than two of them have an ease."""
    found = list(sentences)
    eases = [each.ease for each in found if each.ease is not None]
    return Summary(
        len(eases),
        statistics.mean(eases),
        statistics.median(eases),
        statistics.quantiles(eases, n=10)[0],
        max(each.words for each in found),
        sum(each.words > 30 for each in found),
    )


def avoided(sentence: Sentence) -> list[str]:
    """The phrases in a sentence that are to be avoided, each with what is better."""
    prose = " ".join(sentence.prose.split())
    return [
        f"{found[0]!r}: better {better!r}"
        for phrase, better in PHRASES.items()
        if (found := re.search(phrase, prose, re.IGNORECASE))
    ]


def _plain(prose: str) -> str:
    """The words that are measured: code and names as `it`, terms as a word of two syllables."""
    named = re.sub(r"^(it: )+", "", _LIST.sub("it", _NAMELIKE.sub("it", prose)))
    return " ".join(map(_word, _WORD.findall(named.replace("-", " "))))


@cache
def _word(word: str) -> str:
    return "table" if _is_term(word.lower()) else word


def _is_term(word: str) -> bool:
    if word.endswith("'s"):
        word = word[:-2]
    stems = {word, word.removesuffix("s"), word.removesuffix("es"), word.removesuffix("d")}
    if word.endswith("ies"):
        stems.add(word[:-3] + "y")
    return not stems.isdisjoint(TERMS)


@click.command()
@click.option("-n", "--worst", default=20, show_default=True, help="How many sentences.")
@click.option("-g", "--group", "chosen", type=click.Choice(list(GROUPS)), multiple=True)
@click.option("-p", "--path", "part", default="", help="Only files with this in their path.")
@click.option("--longest", is_flag=True, help="Order by words, not by ease.")
@click.option("--phrases", is_flag=True, help="Print the phrases to be avoided instead.")
def main(worst: int, chosen: Sequence[str], part: str, longest: bool, phrases: bool) -> None:
    """Print each group's reading ease and the sentences that are hardest to read."""
    found = {group: measured(group) for group in chosen or GROUPS}
    every = [each for of in found.values() for each in of if part in each.sentence.path]
    if phrases:
        for each in every:
            for phrase in avoided(each.sentence):
                click.echo(f"{each.sentence.path}:{each.sentence.line}: {phrase}")
        return
    click.echo("group     sentences   mean  median  worst decile  longest  over 30 words")
    for group, of in found.items():
        told = summary(of)
        click.echo(
            f"{group:9} {told.sentences:9} {told.mean:6.1f} {told.median:7.1f}"
            f" {told.worst_decile:13.1f} {told.longest:8} {told.over_thirty:14}"
        )
    with_ease = [each for each in every if longest or each.ease is not None]
    with_ease.sort(key=lambda each: -each.words if longest else each.ease or 0.0)
    for each in with_ease[:worst]:
        click.echo(str(each))


if __name__ == "__main__":
    sys.exit(main())
