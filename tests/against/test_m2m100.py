"""M2M100 and NLLB folders against transformers itself: the same ids, logits and translations."""

import io
import json
import re
from pathlib import Path

import pytest
import sentencepiece
import torch
from transformers import M2M100Config, M2M100ForConditionalGeneration, M2M100Tokenizer

from limelight.config import Direction
from limelight.errors import UserError
from limelight.evaluation.heads import study_heads
from limelight.evaluation.score import score_pairs, score_tokens
from limelight.interop import import_model
from limelight.pipelines.explain import Question, explain
from limelight.pipelines.load import load_translator
from limelight.pipelines.options import SEARCH_ONLY
from limelight.text.pair import Pair
from tests.interop.helpers import ENGLISH, GERMAN


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model of the shape of M2M100, far from uniform, with a tokenizer as theirs are."""
    place = tmp_path_factory.mktemp("m2m100")
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter((ENGLISH + GERMAN) * 5), model_writer=written, model_type="bpe", vocab_size=200,
        character_coverage=1.0, minloglevel=2,
    )  # fmt: skip
    split = sentencepiece.SentencePieceProcessor(model_proto=written.getvalue())
    pieces = [split.id_to_piece(number) for number in range(3, split.get_piece_size())]
    ids = {piece: number for number, piece in enumerate(["<s>", "<pad>", "</s>", "<unk>", *pieces])}
    (place / "vocab.json").write_text(json.dumps(ids))
    (place / "sentencepiece.bpe.model").write_bytes(written.getvalue())
    M2M100Tokenizer(str(place / "vocab.json"), str(place / "sentencepiece.bpe.model")).save_pretrained(place)
    config = M2M100Config(
        vocab_size=len(ids) + 108, d_model=16, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=24, decoder_ffn_dim=24, max_position_embeddings=64,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = M2M100ForConditionalGeneration(config).eval()
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter += 0.3 * torch.randn_like(parameter) * (0.3 if "layer_norm" in name else 1)
            model.model.shared.weight[1] = 0
    model.save_pretrained(place)
    return place


def test_translations_are_those_of_transformers(folder: Path, tmp_path: Path) -> None:
    names = import_model(folder, tmp_path / "out", source_lang="en,de", target_lang="en,de")
    assert names == (Direction("en", "de"), Direction("de", "en"))
    theirs = M2M100ForConditionalGeneration.from_pretrained(folder).eval()
    tokenizer = M2M100Tokenizer.from_pretrained(folder, src_lang="en", tgt_lang="de")
    ours = load_translator(tmp_path / "out", precision="fp32")
    limit = {"max_length_factor": 0.01, "max_length_extra": 12}
    found = ours.translate(ENGLISH, source_lang="en", target_lang="de", beam_size=1, **limit, **SEARCH_ONLY)
    for text, mine in zip(ENGLISH, found, strict=True):
        given = tokenizer(text, return_tensors="pt")
        expected = theirs.generate(
            **given, forced_bos_token_id=tokenizer.get_lang_id("de"), num_beams=1, do_sample=False, max_new_tokens=12
        )[0].tolist()
        pieces = tokenizer.convert_ids_to_tokens([number for number in expected[1:] if number != 2])
        same = [re.sub(r"<2(\w+)>", r"__\1__", each) for each in mine.tokens]
        assert same[: len(pieces)] == pieces[: len(same)]
        assert "<2" not in mine.text


def test_logits_are_those_of_transformers(folder: Path, tmp_path: Path) -> None:
    import_model(folder, tmp_path / "out", source_lang="en", target_lang="de")
    ours = load_translator(tmp_path / "out")
    theirs = M2M100ForConditionalGeneration.from_pretrained(folder).eval()
    tokenizer = M2M100Tokenizer.from_pretrained(folder, src_lang="en", tgt_lang="de")
    given = tokenizer(ENGLISH[0], return_tensors="pt")["input_ids"]
    source = [*ours.tokenizers_of(Direction("en", "de")).source.encode(ENGLISH[0]), 0]
    start, forced = ours.model.start_id, ours.tokenizers.target.reserved_id("<2de>")
    listed = ours.tokenizers.source.pieces(range(ours.tokenizers.source.padding))
    names = tokenizer.convert_ids_to_tokens(list(range(theirs.config.vocab_size)))
    assert [listed[number].replace("<2en>", "__en__") for number in source] == [names[number] for number in given[0]]
    with torch.no_grad():
        expected = theirs(given, decoder_input_ids=torch.tensor([[2, tokenizer.get_lang_id("de")]])).logits[0, 1]
        memory = ours.model.encode(torch.tensor([source]), torch.ones(1, len(source), dtype=torch.bool))
        _, state = ours.model.step(torch.tensor([[start]]), ours.model.start(memory))
        features, _ = ours.model.step(torch.tensor([[forced]]), state)
        found = ours.model.project(features)[0, 0]
    for number in range(20):
        assert found[listed.index(names[number + 10])] == pytest.approx(float(expected[number + 10]), abs=1e-4)


def test_explanations_begin_with_the_language_too(folder: Path, tmp_path: Path) -> None:
    import_model(folder, tmp_path / "out", source_lang="en,de", target_lang="en,de")
    ours, languages = load_translator(tmp_path / "out"), {"source_lang": "en", "target_lang": "de"}
    own = ours.translate(ENGLISH[0], **languages, **SEARCH_ONLY)
    document = explain(ours, Question(ENGLISH[0], "en", "de"))
    assert document["translation"]["text"] == own.text
    assert document["steps"][0]["chosen"]["text"] == own.tokens[0] == "<2de>"
    target = [ours.tokenizers.target.reserved_id("<2de>"), *ours.tokenizers.target.encode("der Hund")]
    assert ours.towards(Direction("en", "de")).target.encode("der Hund") == target
    given = explain(ours, Question(ENGLISH[0], "en", "de", target=target))
    scored = score_tokens(ours, [Pair(ENGLISH[0], "der Hund", "", 1)], **languages)[0]
    assert scored.log_probabilities == pytest.approx(
        [step["chosen"]["log_probability"] for step in given["steps"][1:]], abs=1e-4
    )
    for target in (None, "der Hund"):
        assert ours.attention(ENGLISH[0], target=target, **languages).read_pieces[1] == "<2de>"


def test_the_loss_of_heads_is_that_of_the_scores(folder: Path, tmp_path: Path) -> None:
    import_model(folder, tmp_path / "out", source_lang="en", target_lang="de")
    ours, pair = load_translator(tmp_path / "out"), Pair(ENGLISH[0], GERMAN[0], "", 1)
    (scored,) = score_pairs(ours, [pair])
    expected = -scored.log_probability / scored.tokens
    assert study_heads(ours, {None: [pair]}).loss == pytest.approx(expected, abs=1e-4)


def test_languages_are_asked_for(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"among many languages: name those that you want, .* its languages are af, am"):
        import_model(folder, tmp_path / "out")
    with pytest.raises(UserError, match=r"xx: none of its languages"):
        import_model(folder, tmp_path / "out", source_lang="en", target_lang="xx")
    import_model(folder, tmp_path / "out", source_lang="en", target_lang="german=de")
    assert load_translator(tmp_path / "out").directions == (Direction("en", "german"),)
