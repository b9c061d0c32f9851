"""Marked text to ids and back, with every tokenizer: spacing, sampling, tags, and text that only looks like a mark."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.errors import UserError
from limelight.text.marking import (
    FORMALITY_MARKS,
    TERM_BEGIN,
    TERM_END,
    annotated,
    placeholder,
)
from limelight.tokens import TaggedTokenizer, Tokenizer, normalize, train_tokenizer
from limelight.tokens.listed import ListedTokenizer, listed_model
from limelight.tokens.marked import (
    decode_marked,
    encode_marked,
    encode_marked_batch,
    knows_marks,
    require_marks,
)
from limelight.tokens.tokenizer import FORMALITY_TAGS, PLACEHOLDERS
from tests.marks import show_marks

TEXTS = [f"the cat number {n} sleeps: in (the) house, 是的." for n in range(40)] + ["die Katze schläft."]
X, Y = placeholder(0), placeholder(11)
KINDS = [
    ("bpe", True),
    ("bpe", False),
    ("unigram", True),
    ("unigram", False),
    ("characters", False),
]


def trained(kind: str, byte_fallback: bool) -> Tokenizer:
    return train_tokenizer(
        TEXTS, kind=kind, vocabulary_size=None, languages=["de"], byte_fallback=byte_fallback, seed=1, sentences=41
    )


@pytest.fixture(scope="module", params=KINDS, ids=lambda each: f"{each[0]}-{each[1]}")
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return trained(*request.param)


SPACINGS = [
    f"a{X}e", f"a {X} e", f"a{X} e", f"a {X}e", f"{X}cat", f"{X} cat{Y}", f"cat {X}", f"cat{X}", f"{X}{Y}", f"{X} {Y}",
    X, f"the ({X}) cat: {Y}.", f"{X}the cat{Y} sleeps", f"是{X}的", f"the {X}{Y}.", "the cat sleeps.", "",
]  # fmt: skip


@pytest.mark.parametrize("text", SPACINGS, ids=show_marks)
def test_marked_text_comes_back_with_its_spaces(tokenizer: Tokenizer, text: str) -> None:
    ids = encode_marked(tokenizer, text)
    assert decode_marked(tokenizer, ids) == text
    assert tokenizer.decode(ids).split() == text.replace(X, "").replace(Y, "").split()


def test_marks_are_the_ids_of_reserved_pieces(tokenizer: Tokenizer) -> None:
    ids = encode_marked(tokenizer, f"cat {X}{Y} {TERM_BEGIN} a {TERM_END}")
    wanted = [tokenizer.reserved_id(PLACEHOLDERS[number]) for number in (0, 11, 30, 31)]
    assert [number for number in ids if number in wanted] == wanted


def test_what_looks_like_a_mark_is_ordinary_text_elsewhere(tokenizer: Tokenizer) -> None:
    """Plain `encode` makes no mark of a private-use character, and nothing makes one of `<ph0>`."""
    marks = [tokenizer.reserved_id(piece) for piece in PLACEHOLDERS]
    for ids in (tokenizer.encode(f"a {X} b{TERM_BEGIN}"), encode_marked(tokenizer, "a <ph0> b<ph30>")):
        assert not set(ids) & set(marks)


def test_spaces_around_the_marks_of_a_term_say_nothing(tokenizer: Tokenizer) -> None:
    forms = [
        "the " + annotated("cat", "Katze") + ", sleeps",
        f"the cat{TERM_BEGIN}Katze{TERM_END}, sleeps",
        f"the cat  {TERM_BEGIN} Katze{TERM_END}, sleeps",
    ]
    first, *others = (encode_marked(tokenizer, form) for form in forms)
    assert others == [first, first]
    assert decode_marked(tokenizer, first).split(TERM_BEGIN)[0] == "the cat"
    begin = first.index(tokenizer.reserved_id("<ph30>")) + 1
    assert first[begin:][: len(tokenizer.encode(" Katze"))] == tokenizer.encode(" Katze")


@pytest.mark.parametrize("first", ["è", "ø"])
def test_an_unknown_character_behind_a_mark_is_kept(tokenizer: Tokenizer, first: str) -> None:
    """Also where neighboring unknown characters are one id."""
    text = decode_marked(tokenizer, encode_marked(tokenizer, f"cat{X}{first}s"))
    assert text in (f"cat{X}{first}s", f"cat{X}\u2047s")


MARKED = st.lists(
    st.sampled_from([X, Y, placeholder(29), " ", "the", "cat", "s", ".", "é", "是", "\u00a0"]), max_size=12
).map("".join)


@given(MARKED)
def test_every_marked_text_survives_where_every_character_does(text: str) -> None:
    tokenizer = BPE
    assert decode_marked(tokenizer, encode_marked(tokenizer, text)) == normalize(text)


BPE = trained("bpe", byte_fallback=True)


def test_sampled_text_says_the_same() -> None:
    tokenizer = BPE
    texts = [f"{X}the house{Y}s of the {placeholder(number % 30)} cat sleeps" for number in range(60)]
    rows = encode_marked_batch(tokenizer, texts, amount=0.5, seed=3)
    assert [decode_marked(tokenizer, row) for row in rows] == texts
    assert rows == encode_marked_batch(tokenizer, texts, amount=0.5, seed=3)
    assert len({len(row) for row in rows}) > 1


def test_a_tag_stands_before_marked_text_once() -> None:
    tagged = TaggedTokenizer(BPE, "<2de>")
    ids = encode_marked(tagged, f"{X}cat {Y}")
    assert ids == [BPE.reserved_id("<2de>"), *encode_marked(BPE, f"{X}cat {Y}")]
    assert decode_marked(tagged, ids) == f"{X}cat {Y}"


def test_an_imported_vocabulary_has_no_marks(tmp_path: Path) -> None:
    trained("unigram", byte_fallback=False).save(tmp_path)
    model = (tmp_path / "spm.model").read_bytes()
    listed = ListedTokenizer(listed_model(model, ["</s>", "<unk>", "▁the", "▁", "c", "a", "t"]), reserved=())
    with pytest.raises(UserError, match=r"augmentation\.terms need the tokens <ph0> to <ph31>, but this vocabulary"):
        require_marks(listed)
    assert not knows_marks(listed)
    with pytest.raises(UserError, match="no reserved token <ph0>"):
        encode_marked(listed, f"the {X}")
    assert encode_marked(listed, "the cat") == listed.encode("the cat")
    require_marks(BPE)


@pytest.mark.parametrize("kind", ["bpe", "characters"])
def test_tags_in_marked_text_are_those_that_are_inserted_as_ids(kind: str) -> None:
    settings = {"vocabulary_size": None, "languages": ["de"], "byte_fallback": True, "seed": 1, "sentences": 3}
    tokenizer = train_tokenizer(TEXTS, kind=kind, reserved=FORMALITY_TAGS, **settings)
    text = "the red cat"
    ids = encode_marked(tokenizer, f"{FORMALITY_MARKS['formal']}{text}")
    assert ids == [tokenizer.reserved_id("<formal>"), *tokenizer.encode(text)]
