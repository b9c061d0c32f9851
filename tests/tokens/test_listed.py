"""A model that splits and a list that numbers: the ids are those of the list, for every text."""

import base64
import io
import json
import unicodedata
from pathlib import Path

import pytest
import sentencepiece

from limelight.errors import UserError
from limelight.tokens import (
    ListedTokenizer,
    Tokenizers,
    load_tokenizers,
    save_tokenizers,
)
from limelight.tokens.extend import extend_tokenizers
from limelight.tokens.listed import listed_model

TEXTS = [
    "The small dog runs over the green grass, and nobody listens.",
    "Two birds sing in the old tree. Where is the station?",
    "It isn't far: 300 metres!",
]
OTHERS = [*("Größe über Öl", "naïve café №5", "ﬁne ½ ①", "Маленькая собака", "小さな犬。"), "  a\tb\u3000c  ", "", "½½"]


def train(texts: list[str], rules: str = "identity", kind: str = "unigram") -> bytes:
    """A sentencepiece model with the ids that its library gives by itself."""
    found = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=found, model_type=kind, vocab_size=70,
        hard_vocab_limit=False, normalization_rule_name=rules, user_defined_symbols=["<x>"], minloglevel=2,
    )  # fmt: skip
    return found.getvalue()


@pytest.fixture(scope="module")
def model() -> bytes:
    return train(TEXTS)


@pytest.fixture(scope="module")
def pieces(model: bytes) -> list[str]:
    """A list that lacks pieces of the model and has others, in another order."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    own = [processor.id_to_piece(number) for number in range(3, processor.get_piece_size())]
    return ["</s>", "<unk>", "<x>", *dict.fromkeys([*own[:4:-2], *own[4::3]]), "ö", "ß", ">>deu<<", "½", "犬"]


@pytest.fixture(scope="module")
def tokenizer(model: bytes, pieces: list[str]) -> ListedTokenizer:
    return ListedTokenizer(listed_model(model, pieces), reserved=["<x>", ">>deu<<"])


@pytest.mark.parametrize("rules", ["identity", "nmt_nfkc", "nfkc_cf"])
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_the_model_splits_and_the_list_numbers(pieces: list[str], rules: str, form: str) -> None:
    model = train(TEXTS, rules)
    tokenizer = ListedTokenizer(listed_model(model, pieces), reserved=[])
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    for text in [*TEXTS, *OTHERS]:
        clean = unicodedata.normalize("NFC", " ".join(text.split()))  # what our own normalization does to these
        expected = [pieces.index(piece) if piece in pieces else 1 for piece in processor.encode(clean, out_type=str)]
        assert tokenizer.encode(unicodedata.normalize(form, text)) == expected, text


def test_a_character_that_the_model_does_not_know_may_be_in_the_list(tokenizer: ListedTokenizer) -> None:
    assert tokenizer.pieces(tokenizer.encode("ö"))[-1] == "ö"
    assert tokenizer.encode("öß")[-1] == 1  # two of them in a row are one unknown piece, as there
    assert tokenizer.encode("ж")[-1] == 1


def test_a_character_that_the_rules_remove_gets_no_token(pieces: list[str]) -> None:
    tokenizer = ListedTokenizer(listed_model(train(TEXTS, "nmt_nfkc"), pieces), reserved=[])
    found = extend_tokenizers(Tokenizers(tokenizer, tokenizer), characters="\u200cж")
    assert len(found.parts) == found.tokenizers.target.size - tokenizer.size == 1


def test_a_language_code_is_one_piece(tokenizer: ListedTokenizer, pieces: list[str]) -> None:
    plain = tokenizer.encode("The dog")
    assert tokenizer.encode(">>deu<< The dog") == [pieces.index(">>deu<<"), *plain]
    assert len(tokenizer.encode(">>The dog<<")) > 2  # ordinary text: no list has this code
    assert pieces.index(">>deu<<") not in tokenizer.encode("The >>deu<< dog")
    assert tokenizer.word_of([pieces.index(">>deu<<"), *plain])[:2] == [0, 1]


def test_ids_become_text(tokenizer: ListedTokenizer, pieces: list[str]) -> None:
    known = [pieces.index(piece) for piece in ("ö", "ß", "<x>")]
    assert tokenizer.decode([0, *known, 1, tokenizer.padding]) == "öß<x>⁇"
    assert tokenizer.decode([]) == ""
    with pytest.raises(ValueError, match="is not in this vocabulary"):
        tokenizer.decode([-1])


def test_two_models_may_share_a_list(tokenizer: ListedTokenizer, pieces: list[str], tmp_path: Path) -> None:
    other = ListedTokenizer(listed_model(train(OTHERS[:4] * 3), pieces), reserved=[])
    pair = Tokenizers(tokenizer, other)
    assert pair.one_vocabulary
    assert pair.source.encode(TEXTS[0]) != pair.target.encode(TEXTS[0])
    save_tokenizers(pair, tmp_path)
    assert load_tokenizers(tmp_path).one_vocabulary
    assert Tokenizers(tokenizer, tokenizer).one_vocabulary
    shorter = ListedTokenizer(listed_model(tokenizer.sentencepiece, pieces[:-1]), reserved=[])
    swapped = ListedTokenizer(listed_model(tokenizer.sentencepiece, [*pieces[:-2], *pieces[:-3:-1]]), reserved=[])
    assert not Tokenizers(tokenizer, shorter).one_vocabulary
    assert not Tokenizers(tokenizer, swapped).one_vocabulary


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"sentencepiece": 3}, "not a listed.json: .*sentencepiece"),
        ({"pieces": ["</s>", "<unk>", 7]}, "not a listed.json: .*pieces"),
        ({"pieces": ["</s>"]}, "1 pieces; a vocabulary has between 2 and"),
        ({"pieces": ["<unk>", "</s>", "a"]}, "pieces must begin with </s> and <unk>"),
        ({"pieces": ["</s>", "<unk>", "a", "a"]}, "each once"),
        ({"pieces": ["</s>", "<unk>", "<pad>"]}, "without padding"),
        ({"sentencepiece": "%"}, "not a listed.json"),
        ({"sentencepiece": base64.b64encode(b"no").decode()}, "not a sentencepiece model"),
        ({"more": 1}, "not a listed.json: .*more"),
    ],
)
def test_what_is_no_such_file_is_told(model: bytes, pieces: list[str], changes: dict, fault: str) -> None:
    content = {**json.loads(listed_model(model, pieces)), **changes}
    with pytest.raises(UserError, match=fault):
        ListedTokenizer(json.dumps(content).encode(), reserved=[])


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b"[" * 100_000])
def test_other_bytes_are_told(content: bytes) -> None:
    with pytest.raises(UserError, match=r"^not a listed\.json"):
        ListedTokenizer(content, reserved=[])
