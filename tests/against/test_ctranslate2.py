"""Exported models against CTranslate2 itself: the same probabilities, and the same texts in float32."""

from pathlib import Path

import ctranslate2
import pytest
import sentencepiece
import torch

from limelight.interop import export_ctranslate2
from limelight.pipelines.translator import Translator
from limelight.storage.model import StoredModel
from tests.interop.helpers import ENGLISH, GERMAN, make_stored, make_tokenizers, text_batch, transformer
from tests.interop.trained import trained, unseen

FORMS = [
    {"norm": "post", "tie": "three-way", "joint": True},
    {"norm": "pre", "tie": "two-way", "joint": True, "activation": "gelu", "sinusoid_layout": "halves"},
    {"norm": "pre", "tie": "none", "joint": False, "activation": "swish"},
    {"norm": "post", "tie": "none", "joint": False, "positions": "learned", "max_positions": 64},
    {"norm": "post", "tie": "two-way", "joint": True, "output_bias": True},
    {"norm": "pre", "tie": "three-way", "joint": True, "positions": "rotary"},
    {"norm": "post", "tie": "none", "joint": False, "positions": "rotary", "activation": "gelu"},
]


def open_there(folder: Path, compute_type: str = "float32") -> ctranslate2.Translator:
    return ctranslate2.Translator(str(folder), compute_type=compute_type, intra_threads=1)


def pieces(stored: StoredModel) -> tuple[list[list[str]], list[list[str]]]:
    sides = zip(stored.tokenizers, (ENGLISH, GERMAN), strict=True)
    return tuple([tokenizer.pieces(tokenizer.encode(text)) for text in texts] for tokenizer, texts in sides)


def log_probabilities(stored: StoredModel) -> list[torch.Tensor]:
    """Of each target token and the end, sentence by sentence."""
    batch = text_batch(stored)
    with torch.no_grad():
        found = stored.model.project(stored.model(batch)).log_softmax(-1)
    targets = batch.target_out.masked_fill(~batch.target_valid, 0)
    chosen = found.gather(-1, targets[..., None])[..., 0]
    return [row[valid] for row, valid in zip(chosen, batch.target_valid, strict=True)]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: f"{form['norm']}-{form['tie']}-{len(form)}")
@pytest.mark.parametrize("padding", [0.0, 0.4])
def test_every_piece_has_the_same_probability(form: dict, padding: float, tmp_path: Path, seed: int) -> None:
    """Also where the row that the decoder begins with is not zero."""
    changes = dict(form)
    tokenizers = make_tokenizers(joint=changes.pop("joint"), byte_fallback=False)
    stored = make_stored(tmp_path / "model", transformer(**changes), tokenizers)
    with torch.no_grad():
        stored.model.decoder.embedding.weight[-1] += padding
    export_ctranslate2(stored, tmp_path / "there")
    found = open_there(tmp_path / "there").score_batch(*pieces(stored))
    for scores, expected in zip(found, log_probabilities(stored), strict=True):
        torch.testing.assert_close(torch.tensor(scores.log_probs), expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize(("quantization", "tolerance"), [("float16", 0.05), ("bfloat16", 0.3), ("int8", 0.6)])
def test_fewer_bits_are_nearly_the_same(quantization: str, tolerance: float, tmp_path: Path, seed: int) -> None:
    """What the folder holds is computed in float32: what CTranslate2 would choose differs from one CPU to the next, and
    on one with AVX2 alone it rounds what is multiplied to eight bits, whatever the folder holds."""
    stored = make_stored(tmp_path / "model", transformer(norm="pre"), make_tokenizers(joint=True))
    export_ctranslate2(stored, tmp_path / "there", quantization=quantization)
    found = open_there(tmp_path / "there", compute_type="float32").score_batch(*pieces(stored))
    logged = torch.cat([torch.tensor(scores.log_probs) for scores in found])
    assert (logged - torch.cat(log_probabilities(stored))).abs().mean() < tolerance


@pytest.mark.parametrize(("alpha", "patience"), [(0.0, 1000.0), (1.0, 1.0), (0.6, 1.0)])
def test_a_trained_model_translates_to_the_same_text(tmp_path: Path, alpha: float, patience: float) -> None:
    """By the sentencepiece model in the folder, as the page in it shows. Without a length penalty theirs is patient."""
    stored = trained("post")
    export_ctranslate2(stored, tmp_path / "there")
    there = open_there(tmp_path / "there")
    split, join = (
        sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "there" / f"{side}.spm"))
        for side in ("source", "target")
    )
    texts = unseen(40)
    same = {"length_penalty": alpha, "length_offset": 0.0, "patience": patience, "prune": 1000.0}
    translator = Translator(stored.model, stored.tokenizers, stored.config.decoding.model_copy(update=same))
    for beam in (1, 3):
        ours = [
            found for found in translator.translate(texts, beam_size=beam, lines=True, guards=False) if found.finished
        ]
        assert len(ours) > 20
        found = there.translate_batch(
            split.encode(texts, out_type=str),
            beam_size=beam,
            length_penalty=alpha,
            min_decoding_length=0,  # theirs forbids an empty translation else
            max_decoding_length=60,
        )
        theirs = {text: join.decode(each.hypotheses[0]) for text, each in zip(texts, found, strict=True)}
        assert [theirs[each.source] for each in ours] == [each.text for each in ours]


def test_long_sources_are_cut_as_ever(tmp_path: Path) -> None:
    stored = make_stored(tmp_path / "model", transformer(), make_tokenizers(joint=True))
    export_ctranslate2(stored, tmp_path / "there")
    found = open_there(tmp_path / "there").translate_batch([["a"] * 3000], beam_size=1, max_decoding_length=3)
    assert len(found[0].hypotheses[0]) <= 3
