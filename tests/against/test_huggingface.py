"""Marian folders against transformers itself: the same logits, ids and texts in both directions."""

import copy
import io
import json
import random
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
import sentencepiece
import torch
from torch import nn
from transformers import MarianConfig, MarianMTModel, MarianTokenizer

from limelight.batching.batch import Batch
from limelight.interop import export_huggingface, import_model
from limelight.interop.huggingface import write_tokenizers
from limelight.models.interface import Seq2Seq
from limelight.pipelines.load import load_translator
from limelight.pipelines.translator import Translator
from limelight.storage.model import load_model
from tests.interop.helpers import (
    ENGLISH,
    GERMAN,
    MANY,
    make_stored,
    make_tokenizers,
    text_batch,
    transformer,
)
from tests.interop.trained import trained, unseen

pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")

FORMS = [
    {"tie": "three-way", "activation": "relu", "kind": "bpe"},
    {"tie": "two-way", "activation": "gelu", "kind": "unigram", "output_bias": True},
    {"tie": "none", "activation": "swish", "kind": "unigram"},
    {"tie": "two-way", "activation": "swish", "kind": "bpe", "sinusoid_layout": "halves"},
]


def read_there(folder: Path) -> tuple[MarianMTModel, MarianTokenizer]:
    return MarianMTModel.from_pretrained(folder).eval(), MarianTokenizer.from_pretrained(folder)


def require_same_logits(ours: Seq2Seq, theirs: MarianMTModel, batch: Batch) -> None:
    """Of every token that can be predicted; padding is a class there, and is left out.

    In double precision: the weights are the same, and what fp32 rounds differently says nothing of them.
    """
    ours, theirs = copy.deepcopy(ours).double(), copy.deepcopy(theirs).double()
    with torch.no_grad():
        logits = ours.project(ours(batch))[batch.target_valid]
        expected = theirs(
            input_ids=batch.source,
            attention_mask=batch.source_valid.long(),
            decoder_input_ids=batch.target_in,
        ).logits[batch.target_valid][:, : ours.output_size]
    assert expected.std() > 0.05  # not all alike, whatever weights were drawn
    torch.testing.assert_close(logits, expected, rtol=1e-5, atol=1e-5)


@pytest.fixture(scope="module", params=FORMS, ids=lambda form: f"{form['tie']}-{form['kind']}")
def form(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple]:
    """A model of each form, exported, and read by transformers."""
    changes = dict(request.param)
    tokenizers = make_tokenizers(joint=True, kind=changes["kind"], byte_fallback=False)
    del changes["kind"]
    folder = tmp_path_factory.mktemp("form")
    stored = make_stored(folder / "model", transformer(**changes), tokenizers)
    export_huggingface(stored, folder / "marian")
    return stored, *read_there(folder / "marian")


def test_an_exported_model_has_the_same_logits(form: tuple) -> None:
    stored, model, _ = form
    require_same_logits(stored.model, model, text_batch(stored))


@pytest.mark.parametrize("normal", ["NFC", "NFD"])
def test_an_exported_tokenizer_gives_the_same_ids(form: tuple, normal: str) -> None:
    stored, _, tokenizer = form
    texts = [*ENGLISH, *GERMAN, *MANY, "a\tb\u3000 c\u2028d\u00a0e", " <2de>  Das <ph3> ", "👩‍👩‍👧 ▁x▁▁y"]
    for text in (unicodedata.normalize(normal, text) for text in texts):
        assert tokenizer(text).input_ids == [*stored.tokenizers.source.encode(text), 0], text
        assert tokenizer(text_target=text).input_ids == [*stored.tokenizers.target.encode(text), 0], text


def test_an_exported_tokenizer_reads_ids_as_the_same_text(form: tuple) -> None:
    stored, _, tokenizer = form
    for text in GERMAN:
        ids = stored.tokenizers.target.encode(text)
        assert tokenizer.decode([*ids, 0], skip_special_tokens=True) == stored.tokenizers.target.decode(ids) == text


@pytest.mark.parametrize(
    ("tie", "activation"), [("three-way", "swish"), ("two-way", "gelu"), ("none", "relu"), ("two-way", "relu")]
)
def test_an_imported_model_has_the_same_logits(tie: str, activation: str, tmp_path: Path, seed: int) -> None:
    tokenizers = make_tokenizers(joint=True, byte_fallback=False)
    marian = make_marian(tokenizers.target.size, tie=tie, activation_function=activation)
    marian.save_pretrained(tmp_path / "marian")
    write_tokenizers(tokenizers, tmp_path / "marian")
    import_model(tmp_path / "marian", tmp_path / "model")
    stored = load_model(tmp_path / "model")
    assert stored.config.model.tie == tie
    require_same_logits(stored.model, marian, text_batch(stored))
    assert list(map(stored.tokenizers.source.encode, ENGLISH)) == list(map(tokenizers.source.encode, ENGLISH))


def make_marian(size: int, *, tie: str, **changes: object) -> MarianMTModel:
    """A random model of theirs, whose row of padding is not zero, as after training it in transformers."""
    config = {
        "vocab_size": size, "decoder_vocab_size": size, "d_model": 12, "encoder_layers": 2, "decoder_layers": 3,
        "encoder_attention_heads": 3, "decoder_attention_heads": 3, "encoder_ffn_dim": 17, "decoder_ffn_dim": 17,
        "max_position_embeddings": 64, "scale_embedding": True, "pad_token_id": size - 1,
        "decoder_start_token_id": size - 1, "share_encoder_decoder_embeddings": tie == "three-way",
        "tie_word_embeddings": tie != "none",
    }  # fmt: skip
    marian = MarianMTModel(MarianConfig(**{**config, **changes}))
    with torch.no_grad():
        for parameter in marian.parameters():
            if parameter.requires_grad:
                nn.init.normal_(parameter, std=0.3)
    return marian.eval()


def test_a_model_of_the_shape_of_opus_mt_is_imported(tmp_path: Path, seed: int) -> None:
    """One list of tokens for both sides in an order of its own, a sentencepiece model for each as its library makes it,
    language codes, a bias of the output, embeddings shared: what has been published a thousand times."""
    folder = tmp_path / "opus-mt"
    vocabulary = write_opus_tokenizer(folder)
    marian = make_marian(len(vocabulary), tie="three-way", activation_function="swish")
    with torch.no_grad():
        marian.final_logits_bias.normal_()
        marian.final_logits_bias[0, -1] = 0
        marian.model.shared.weight[-1] = 0
    marian.save_pretrained(folder)
    tokenizer = MarianTokenizer.from_pretrained(folder)
    import_model(folder, tmp_path / "model")
    stored = load_model(tmp_path / "model")
    texts = [*ENGLISH, *GERMAN, *MANY, ">>deu<< The dog.", "größer über Öl naïve 犬", "a\tb\u3000 c\u2028d\u00a0e"]
    for text in texts:
        assert [*stored.tokenizers.source.encode(text), 0] == tokenizer(text).input_ids, text
        target = stored.tokenizers.target.encode(text)
        assert [*target, 0] == tokenizer(text_target=text).input_ids, text
        known = [number for number in target if number != 1]
        assert stored.tokenizers.target.decode(known) == tokenizer.decode(known, skip_special_tokens=True), text
    require_same_logits(stored.model, marian, text_batch(stored))
    assert stored.model.output_bias is not None
    export_huggingface(stored, tmp_path / "again")
    again, again_tokenizer = read_there(tmp_path / "again")
    require_same_logits(stored.model, again, text_batch(stored))
    assert [again_tokenizer(text).input_ids for text in texts] == [tokenizer(text).input_ids for text in texts]


def write_opus_tokenizer(folder: Path) -> dict[str, int]:
    """The files of a tokenizer whose sentencepiece models number their tokens in another way than the list."""
    folder.mkdir()
    names: list[str] = []
    for name, texts in (("source.spm", ENGLISH), ("target.spm", GERMAN)):
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(texts), model_writer=model, vocab_size=90, hard_vocab_limit=False, minloglevel=2
        )
        (folder / name).write_bytes(model.getvalue())
        processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
        names += [processor.id_to_piece(number) for number in range(3, processor.get_piece_size())]
    random.Random(3).shuffle(names)
    listed = ["</s>", "<unk>", ">>deu<<", *dict.fromkeys(names[5:]), "<pad>"]  # not all that the models know
    vocabulary = {name: number for number, name in enumerate(listed)}
    (folder / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    settings = {"source_lang": "eng", "target_lang": "deu", "tokenizer_class": "MarianTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    return vocabulary


def test_a_trained_model_translates_to_the_same_text(tmp_path: Path) -> None:
    stored = trained("post")
    export_huggingface(stored, tmp_path / "marian")
    model, tokenizer = read_there(tmp_path / "marian")
    texts = unseen(10)
    patient = stored.config.decoding.model_copy(update={"patience": 1000.0})  # as "never" is
    translator = Translator(stored.model, stored.tokenizers, patient)
    inputs = tokenizer(texts, return_tensors="pt", padding=True)
    # A limit that none is to reach: at it transformers forces the end, which is a token more.
    settings = {"max_new_tokens": 40, "early_stopping": "never", "length_penalty": 0.0}
    for beam in (1, 3):
        ours = [
            found
            for found in translator.translate(texts, beam_size=beam, length_penalty=0.0, guards=False)
            if found.finished
        ]
        assert len(ours) > 5
        with torch.no_grad():
            theirs = model.generate(**inputs, num_beams=beam, do_sample=False, **settings)
        found = dict(zip(texts, tokenizer.batch_decode(theirs, skip_special_tokens=True), strict=True))
        assert [found[each.source] for each in ours] == [each.text for each in ours]
    import_model(tmp_path / "marian", tmp_path / "back")
    back = load_translator(tmp_path / "back")
    back.config = patient
    assert [each.text for each in back.translate(texts)] == [each.text for each in translator.translate(texts)]
