"""The recipe that trains a model on."""

from limelight.config import (
    AugmentationConfig,
    DataConfig,
    DecoderOnlyConfig,
    EncoderOnlyConfig,
    RecurrentConfig,
    RunConfig,
    TransformerConfig,
)
from limelight.config.recipes import finetune
from limelight.recipes import find_recipe


def test_the_model_and_how_it_is_used_are_the_parents() -> None:
    for name in ("small", "tiny", "luong", "gpt-tiny", "bert-tiny"):
        parent = find_recipe(name)
        found = finetune(parent)
        assert (found.model, found.tokens, found.decoding) == (parent.model, parent.tokens, parent.decoding)
        assert (found.batching.block, found.batching.max_length) == (parent.batching.block, parent.batching.max_length)
        assert found.batching.tokens <= parent.batching.tokens * parent.training.accumulate
        assert found.training.learning_rate < parent.training.learning_rate
        replays = {"replay": 1.0 if "pairs" in parent.model.learns_from else 0.0}
        assert found.data == RunConfig().data.model_copy(update=replays)
        assert found.begin_with == ""
    by_line = RunConfig(model=DecoderOnlyConfig(), data=DataConfig(documents="line"))
    assert finetune(by_line).data.documents == "line"


def test_what_translation_relies_on_stays_trained() -> None:
    learned = AugmentationConfig(placeholders=0.04, terms=0.02)
    parent = RunConfig(augmentation=learned.model_copy(update={"names": 0.6, "name_lists": ("gone.txt",)}))
    assert finetune(parent).augmentation == learned


def test_wider_models_get_a_smaller_rate() -> None:
    rates = {width: finetune(RunConfig(model=TransformerConfig(d_model=width))).training.learning_rate
             for width in (8, 128, 256, 512, 1024)}  # fmt: skip
    assert rates == {8: 1e-3, 128: 2e-4, 256: 1e-4, 512: 5e-5, 1024: 2.5e-5}
    assert finetune(RunConfig(model=RecurrentConfig(hidden=512))).training.learning_rate == 5e-5
    assert finetune(RunConfig(model=DecoderOnlyConfig(d_model=512))).training.learning_rate == 1.5e-4


def test_each_family_is_judged_by_its_own_figure() -> None:
    found = {section.family: finetune(RunConfig(model=section)).training
             for section in (TransformerConfig(), DecoderOnlyConfig(), EncoderOnlyConfig())}  # fmt: skip
    assert {family: each.best_by for family, each in found.items()} == {
        "transformer": "loss", "decoder_only": "loss", "encoder_only": "macro_f1"
    }  # fmt: skip
    assert {each.label_smoothing for family, each in found.items() if family != "transformer"} == {0.0}
    assert [family for family, each in found.items() if each.fit_to_budget] == ["transformer"]
