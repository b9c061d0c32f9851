import json
import platform
from importlib import import_module

import numpy as np
import pytest
import sacrebleu
import torch

from limelight.config import DecodingConfig, Direction, RecurrentConfig, TransformerConfig
from limelight.decoding.ensemble import Ensemble
from limelight.errors import UserError
from limelight.evaluation import evaluate, perplexity, score_pairs
from limelight.evaluation.evaluate import DirectionsEvaluation
from limelight.evaluation.metrics import METRICS
from limelight.evaluation.score import PairScore
from limelight.models.families import build_model
from limelight.pipelines.translator import Translator
from limelight.text.pair import Pair
from tests.evaluation.fakes import BagModel
from tests.inspection.fakes import LETTERS

SOURCES = ["ab cd", "a b c d e f g", "", "hh i j k l m n o p q r"]
TARGETS = ["AB CD", "A", "B", "HH AB"]
PAIRS = [
    Pair(source, target, "tests.tsv", line)
    for line, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True), start=1)
]
TINY = TransformerConfig(encoder_layers=1, decoder_layers=2, d_model=8, heads=2, d_ff=12, tie="two-way")


class Parrot(Translator):
    """Says the wanted lines whatever it is asked, in the real record."""

    def __init__(self, lines, finished=True):
        super().__init__(BagModel(), LETTERS, DecodingConfig(beam_size=3, length_penalty=0.7))
        self.lines, self.finished, self.asked = lines, finished, []

    def translate(self, texts, **settings):
        self.asked.append((list(texts), settings))
        translation = Translator(build_model(TINY, LETTERS), LETTERS).translate("a", beam_size=1)
        return [
            type(translation)(line, 0.0, tuple(line), 0.0, text, self.finished)
            for line, text in zip(self.lines, texts, strict=True)
        ]


@pytest.mark.parametrize("family", ["transformer", "recurrent", "ensemble"])
def test_a_random_model_is_evaluated_from_text_to_text(seed, family):
    config = RecurrentConfig(embedding=5, hidden=6) if family == "recurrent" else TINY
    model = build_model(config, LETTERS)
    if family == "ensemble":
        model = Ensemble([model, build_model(RecurrentConfig(embedding=5, hidden=6), LETTERS)])
    translator = Translator(model.train(), LETTERS, DecodingConfig(max_length_factor=1, max_length_extra=3))
    evaluation = evaluate(translator, PAIRS, beam_size=2, length_penalty=0.0)
    translations = translator.translate(SOURCES, beam_size=2, length_penalty=0.0, lines=True, guards=False)
    assert evaluation.translations == tuple(translation.text for translation in translations)
    assert evaluation.tokens == sum(len(translation.tokens) for translation in translations)
    assert evaluation.unfinished == sum(not translation.finished for translation in translations)
    assert evaluation.perplexity == pytest.approx(perplexity(score_pairs(Translator(model, LETTERS), PAIRS)))
    assert evaluation.seconds > 0
    assert evaluation.tokens_per_second == evaluation.tokens / evaluation.seconds
    assert model.training


def test_scores_are_those_of_the_translations(seed):
    lines = ["AB CD", "one two three four", "", "x"]
    evaluation = evaluate(Parrot(lines), PAIRS)
    assert evaluation.bleu.score == sacrebleu.corpus_bleu(lines, [TARGETS]).score
    assert evaluation.chrf.score == sacrebleu.corpus_chrf(lines, [TARGETS]).score
    assert sum(bucket.sentences for bucket in evaluation.by_length) == evaluation.sentences == len(PAIRS)


def test_bleu_is_tokenized_as_the_references_are_written(seed, monkeypatch):
    lines = ["猫看鱼和狗", "狗看鱼和猫"]
    pairs = [Pair("ab", line, "tests.tsv", 1) for line in lines]
    module = import_module("limelight.evaluation.evaluate")
    monkeypatch.setattr(module, "score_pairs", lambda *_, **__: [PairScore(-1.0, 1)])  # LETTERS has no such letters
    for settings, tokenize in (
        ({}, "zh"),
        ({"tokenize": "char"}, "char"),
    ):
        evaluation = evaluate(Parrot(lines), pairs, **settings)
        assert evaluation.bleu.score == evaluation.by_length[0].bleu == pytest.approx(100)
        assert f"|tok:{tokenize}|" in evaluation.bleu.signature
        assert f"tokenize: {tokenize}\n" in evaluation.table()
    assert evaluate(Parrot(lines), pairs, tokenize="13a").bleu.score < 1


def test_settings_reach_the_translator_and_the_provenance(seed):
    parrot = Parrot(["a"] * 4, finished=False)
    evaluation = evaluate(parrot, PAIRS, beam_size=5, origin={"model": "runs/one", "seed": 7})
    how = {"beam_size": 5, "source_lang": "", "target_lang": ""}
    assert parrot.asked == [(SOURCES, how)]
    assert evaluation.unfinished == 4
    assert evaluation.provenance == {
        "model": "runs/one",
        "seed": 7,
        "test_files": ["tests.tsv"],
        "pairs": 4,
        **parrot.config.model_dump(),
        "beam_size": 5,
        "n_best": 1,
        "guards": False,
        "tokenize": "13a",
        "versions": evaluation.provenance["versions"],
    }
    versions = evaluation.provenance["versions"]
    assert versions["python"] == platform.python_version()
    assert versions["torch"] == torch.__version__
    assert versions["sacrebleu"] == sacrebleu.__version__
    assert versions["limelight"]


def test_languages_that_are_options_are_those_of_the_perplexity(seed, monkeypatch):
    parrot, asked = Parrot(["a"] * 4), []
    parrot.directions = (Direction("en", "de"), Direction("en", "fr"))
    module = import_module("limelight.evaluation.evaluate")
    monkeypatch.setattr(module, "score_pairs", lambda *_, **how: asked.append(how) or [PairScore(-1.0, 1)])
    evaluation = evaluate(parrot, PAIRS, source_lang="en", target_lang="de")
    assert asked == [{"source_lang": "en", "target_lang": "de"}]
    assert evaluation.provenance["guards"]


def test_metrics_of_several_directions_are_shown(monkeypatch):
    monkeypatch.setitem(METRICS.parts, "half", lambda outputs, references: np.float32(0.5))
    one = evaluate(Parrot(["a"] * 4), PAIRS, metrics=("half",))
    found = DirectionsEvaluation({"a-b": one, "b-a": one})
    assert json.loads(found.to_json())["mean"]["half"] == 0.5
    heads, *rows = [line.split() for line in found.table().splitlines()[:4]]
    assert heads[2:] == ["BLEU", "chrF2", "half", "perplexity"]
    assert [row[0] for row in rows] == ["a-b", "b-a", "mean"]
    assert {row[-2] for row in rows} == {"0.50"}


def test_what_cannot_be_evaluated_is_named_before_any_work(seed):
    parrot = Parrot([])
    with pytest.raises(UserError, match="nothing to evaluate: the test set has no pairs"):
        evaluate(parrot, [])
    with pytest.raises(UserError, match="tokenize='14a'"):
        evaluate(parrot, PAIRS, tokenize="14a")
    assert not parrot.asked
