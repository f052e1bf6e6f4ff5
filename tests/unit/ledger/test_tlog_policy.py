"""Policies (C2SP tlog-policy): what they say of a checkpoint, and what is no policy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.ledger import tlog_policy
from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.ledger.note import COSIGNATURE, ML_DSA_COSIGNATURE, Note, NoteError, SigningKey
from failproof_es.ledger.tlog_policy import Policy, PolicyError
from tests.every import every

LOG = SigningKey.generate("log.example")
OTHER = SigningKey.generate("other.example")
X = [SigningKey.generate(f"x{n}.example", COSIGNATURE) for n in range(3)]
Y = [SigningKey.generate(f"y{n}.example", ML_DSA_COSIGNATURE) for n in range(2)]
TREE = Checkpoint("log.example", 7, bytes(range(32)))
TWO_LEVELS = "\n".join(
    [
        "# who counts",
        f"log {LOG.public} https://log.example/",
        *(f"witness X{n}\t{key.public}" for n, key in enumerate(X)),
        "group X-witnesses 2 X0 X1 X2",
        *(f"witness Y{n} {key.public}  https://y{n}.example/" for n, key in enumerate(Y)),
        "group Y-witnesses any Y0 Y1",
        "  group X-and-Y all X-witnesses Y-witnesses",
        "quorum X-and-Y\n",
    ]
)


def signed(*cosigners: SigningKey, log: SigningKey = LOG) -> Note:
    """The checkpoint, with these cosignatures."""
    made = Checkpoint(log.name, TREE.size, TREE.root).signed(log)
    return made.signed(*(key.sign(made.text, at=1_700_000_000) for key in cosigners))


@every(
    ("cosigners", "agree"),
    [
        ((X[0], X[1], Y[0]), True),
        ((X[2], X[1], Y[1]), True),
        ((X[0], X[1], X[2], Y[0], Y[1]), True),
        ((X[0], Y[0], Y[1]), False),
        ((X[0], X[1], X[2]), False),
        ((), False),
    ],
)
def test_a_quorum_of_groups_has_to_have_cosigned(
    cosigners: tuple[SigningKey, ...], agree: bool
) -> None:
    policy = tlog_policy.parse(TWO_LEVELS.encode())
    if agree:
        of_tree, cosigned = policy.open(signed(*cosigners))
        assert of_tree == TREE
        assert cosigned == {key.name: 1_700_000_000 for key in cosigners}
    else:
        with pytest.raises(PolicyError, match="not signed by"):
            policy.open(signed(*cosigners))


def test_each_listed_log_counts_and_no_other() -> None:
    policy = tlog_policy.parse(f"log {LOG.public}\nlog {OTHER.public}\nquorum none".encode())
    assert policy.open(signed())[0] == TREE
    assert policy.open(signed(log=OTHER))[0].origin == "other.example"
    with pytest.raises(PolicyError, match=r"not signed by log\.example"):
        policy.open(signed(log=SigningKey.generate("third.example")))
    with pytest.raises(PolicyError, match="has no log"):
        tlog_policy.parse(b"quorum none").open(signed())


def test_a_cosignature_of_a_known_witness_that_is_wrong_is_no_missing_one() -> None:
    policy = tlog_policy.parse(f"log {LOG.public}\nwitness w {X[0].public}\nquorum none".encode())
    of_another = Checkpoint("log.example", 8, TREE.root).signed(LOG)
    forged = signed().signed(X[0].sign(of_another.text, at=1))
    with pytest.raises(NoteError, match="does not match"):
        policy.open(forged)


@every(
    ("line", "problem"),
    [
        (f"witness w {LOG.public}", "is not a cosigner's"),
        (f"log {X[0].public}", "is not a log's own"),
        (f"log {LOG.public} a b", "a URL or nothing"),
        (f"log {str(LOG.public)[:-2]}", "base64"),
        (f"log {LOG.public}", "there already"),
        (f"witness Z {X[0].public}", "there already"),
        (f"witness X0 {SigningKey.generate('w', COSIGNATURE).public}", "taken"),
        (f"witness none {SigningKey.generate('w', COSIGNATURE).public}", "taken"),
        ("group X-and-Y any X0", "taken"),
        ("group g any X0", "member already"),
        ("group g any nobody", "no line before"),
        ("group g any g", "no line before"),
        ("group g any none", "no line before"),
        ("group g 0 X-and-Y", "from 1 to 1"),
        ("group g 2 X-and-Y", "from 1 to 1"),
        ("group g 01 X-and-Y", "from 1 to 1"),
        ("group g -1 X-and-Y", "from 1 to 1"),
        ("group g any", "and members"),
        ("quorum X0", "already"),
        ("quorum", "one name"),
        ("threshold 2", "none of log, witness, group, quorum"),
        ("quorum\u00a0none", "none of log"),
        ("log\x00", "control character"),
        ("quorum none\r", "control character"),
    ],
)
def test_every_line_that_is_none_is_told_with_its_number(line: str, problem: str) -> None:
    with pytest.raises(PolicyError) as caught:
        tlog_policy.parse(f"{TWO_LEVELS}\n{line}\nnonsense".encode())
    (first, message), (second, _) = caught.value.problems
    number = TWO_LEVELS.count("\n") + 2
    assert (first, second) == (number, number + 1) and problem in message


def test_a_log_is_no_witness_of_its_own_whatever_the_kind_says() -> None:
    """The same key under another name and kind: a quorum of oneself."""
    itself = SigningKey("w.example", LOG.secret, COSIGNATURE)
    lines = f"log {LOG.public}\nwitness w {itself.public}\nquorum w"
    with pytest.raises(PolicyError, match="counts once"):
        tlog_policy.parse(lines.encode())
    with pytest.raises(PolicyError, match="counts once"):
        Policy.of(LOG.public, [itself.public])
    with pytest.raises(PolicyError, match="counts once"):
        Policy.of(LOG.public, [X[0].public, SigningKey("x", X[0].secret, COSIGNATURE).public])


def test_names_are_octets() -> None:
    names = ("K", "\u212a", "é")
    lines = [f"witness {name} {key.public}" for name, key in zip(names, X, strict=True)]
    document = "\n".join([f"log {LOG.public}", *lines, "group g all K \u212a é", "quorum g"])
    assert tlog_policy.parse(document.encode()).open(signed(*X))[0] == TREE
    latin = document.encode().replace("é".encode(), b"\xe9")
    assert tlog_policy.parse(latin).open(signed(*X))[0] == TREE
    with pytest.raises(PolicyError, match="no line before it defines"):
        tlog_policy.parse(document.replace("all K", "all k").encode())


def test_a_long_chain_of_groups_is_followed() -> None:
    count = 20_000
    chain = [f"group g{n + 1} any g{n}" for n in range(count)]
    document = "\n".join(
        [f"witness g0 {X[0].public}", f"log {LOG.public}", *chain, f"quorum g{count}"]
    )
    policy = tlog_policy.parse(document.encode())
    assert policy.open(signed(X[0]))[0] == TREE
    with pytest.raises(PolicyError):
        policy.open(signed(X[1]))


@given(
    st.binary(max_size=300)
    | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace"))
)
def test_any_bytes_are_a_policy_or_told(data: bytes) -> None:
    try:
        tlog_policy.parse(b"quorum none\n" + data)
    except PolicyError as error:
        assert all(line is not None and line > 1 for line, _ in error.problems)
