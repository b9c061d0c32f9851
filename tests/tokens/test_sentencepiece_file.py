"""Sentencepiece models from inside, against what the library says of them."""

import io
from contextlib import suppress

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from limelight.errors import UserError
from limelight.tokens.metadata import read_stored
from limelight.tokens.sentencepiece_file import (
    TYPES,
    add_pieces,
    pieces_in,
    rules_of,
    type_of,
    with_rules,
)
from tests.interop.helpers import ENGLISH, GERMAN, make_tokenizers


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """One of our own."""
    folder = tmp_path_factory.mktemp("tokenizer")
    make_tokenizers(joint=True).source.save(folder)
    return read_stored(folder)[1]


def foreign(kind: str) -> bytes:
    """One as the library makes it when nothing is asked for."""
    found = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(ENGLISH + GERMAN), model_writer=found, model_type=kind, vocab_size=80,
        hard_vocab_limit=False, user_defined_symbols=["<a>", "ü>"], minloglevel=2,
    )  # fmt: skip
    return found.getvalue()


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char", "word"])
def test_what_a_model_says_of_itself_is_read(kind: str) -> None:
    model = foreign(kind)
    assert type_of(model) == kind
    pieces = pieces_in(model)
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    assert list(pieces) == [processor.id_to_piece(number) for number in range(processor.get_piece_size())]
    assert [piece for piece in pieces if pieces[piece] and not piece.startswith("▁")] == ["<a>", "ü>"]
    name, rules = rules_of(model)
    assert name == "nmt_nfkc"
    assert len(rules) > 100_000


def test_rules_are_put_in_and_taken_out(model: bytes) -> None:
    assert rules_of(model) == ("identity", b"")
    _, rules = rules_of(foreign("bpe"))
    changed = with_rules(model, "compatible", rules)
    assert rules_of(changed) == ("compatible", rules)
    text = "\ufb01ne \u2460"  # a ligature and a circled digit
    plain, folded = (sentencepiece.SentencePieceProcessor(model_proto=each) for each in (model, changed))
    assert folded.encode(text) == plain.encode("fine 1") != plain.encode(text)
    back = with_rules(changed, "identity", b"")
    assert with_rules(back, "identity", b"") == back
    assert sentencepiece.SentencePieceProcessor(model_proto=back).encode(text) == plain.encode(text)


@given(st.binary(max_size=40), st.integers(0, 2**31))
def test_what_is_no_model_is_told_whatever_its_bytes(made_up: bytes, place: int) -> None:
    small = add_pieces(b"", [("a", 1.0), ("b", 2.0)])
    for damaged in (made_up, small[: place % len(small)], small[:3] + made_up + small[3:]):
        with suppress(UserError):
            assert type_of(damaged) in TYPES.values()
            assert all(isinstance(piece, str) for piece in pieces_in(damaged))
    with pytest.raises(UserError, match=r"^not a sentencepiece model: "):
        type_of(b"\x0a\x05ab")
    assert rules_of(b"") == ("", b"")
