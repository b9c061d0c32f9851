"""Marian folders without transformers: there and back bit for bit, and every folder and configuration that is none."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import yaml
from torch import Tensor

from limelight.config import Corpus, DataConfig, ModelConfig, RecurrentConfig
from limelight.errors import UserError
from limelight.interop import export_huggingface, import_model
from limelight.interop.huggingface import _OPTIONAL, _languages, _settings, read_config, read_m2m100, width_axis
from limelight.interop.names import lacking
from limelight.pipelines.load import load_translator
from limelight.storage.model import StoredModel, load_model
from limelight.storage.weights import named_weights, read_weights, save_weights
from limelight.tokens import Tokenizers
from tests.interop.helpers import ENGLISH, make_stored, make_tokenizers, text_batch, transformer


@pytest.fixture(scope="module")
def joint() -> Tokenizers:
    return make_tokenizers(joint=True)


@pytest.fixture(scope="module")
def stored(joint: Tokenizers, tmp_path_factory: pytest.TempPathFactory) -> StoredModel:
    return make_stored(tmp_path_factory.mktemp("model"), transformer(sinusoid_layout="halves"), joint)


@pytest.fixture
def folder(stored: StoredModel, tmp_path: Path) -> Path:
    export_huggingface(stored, tmp_path / "marian")
    return tmp_path / "marian"


def there_and_back(stored: StoredModel, place: Path) -> StoredModel:
    export_huggingface(stored, place / "marian")
    import_model(place / "marian", place / "back")
    return load_model(place / "back")


@pytest.mark.parametrize("tie", ["three-way", "two-way", "none"])
def test_every_weight_comes_back(tie: str, joint: Tokenizers, tmp_path: Path, seed: int) -> None:
    config = transformer(tie=tie, sinusoid_layout="halves", activation="gelu")
    stored = make_stored(tmp_path / "model", config, joint)
    back = there_and_back(stored, tmp_path)
    assert back.config.model == config
    weights, again = named_weights(stored.model), named_weights(back.model)
    assert weights.keys() == again.keys()
    assert [name for name in weights if not torch.equal(weights[name], again[name])] == []
    assert back.tokenizers.source.pieces(range(50)) == stored.tokenizers.source.pieces(range(50))
    assert back.tokenizers.source is back.tokenizers.target


def test_interleaved_sinusoids_come_back_as_halves(joint: Tokenizers, tmp_path: Path, seed: int) -> None:
    """The same weights in another order: that of the features, sines first."""
    stored = make_stored(tmp_path / "model", transformer(), joint)
    back = there_and_back(stored, tmp_path)
    assert (stored.config.model.sinusoid_layout, back.config.model.sinusoid_layout) == ("interleaved", "halves")
    order = torch.tensor([0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11])
    again = named_weights(back.model)
    for name, weight in named_weights(stored.model).items():
        axis = width_axis(name)
        expected = weight if axis is None else weight.index_select(axis, order)
        assert torch.equal(again[name], expected), name
    batch = text_batch(stored)
    with torch.no_grad():
        logits = [each.model.project(each.model(batch)) for each in (stored, back)]
    torch.testing.assert_close(*logits, rtol=1e-5, atol=1e-5)


def test_the_languages_come_back(stored: StoredModel, tmp_path: Path) -> None:
    data = DataConfig(train=(Corpus(files=("a.tsv",), source="en", target="de"),))
    named = replace(stored, config=stored.config.model_copy(update={"data": data}))
    export_huggingface(named, tmp_path / "marian")
    header = next(yaml.safe_load_all((tmp_path / "marian" / "README.md").read_text()))
    assert header == {"library_name": "transformers", "pipeline_tag": "translation", "language": ["de", "en"]}
    assert import_model(tmp_path / "marian", tmp_path / "back") == (("en", "de"),)


def test_an_imported_model_does_all_a_model_does(folder: Path, stored: StoredModel, tmp_path: Path) -> None:
    import_model(folder, tmp_path / "back")
    texts = ENGLISH[:2]
    ours, theirs = (load_translator(place) for place in (stored.folder, tmp_path / "back"))
    assert [each.text for each in theirs.translate(texts, beam_size=2)] == [
        each.text for each in ours.translate(texts, beam_size=2)
    ]
    assert theirs.attention(texts[0]).cross.shape[0] == 3
    card = (tmp_path / "back" / "README.md").read_text()
    assert "imported from marian, a Marian model of transformers, by limelight" in card
    assert card.endswith("# Whose it is\n")
    assert load_model(tmp_path / "back").notes["made_from"].startswith("imported from marian")


def test_a_bias_of_the_output_comes_and_goes(folder: Path, stored: StoredModel, tmp_path: Path) -> None:
    edit(folder, lambda weights: weights["final_logits_bias"][0, 2:5].copy_(torch.tensor([0.5, -1, 2])))
    import_model(folder, tmp_path / "back")
    back = load_model(tmp_path / "back")
    assert (stored.config.model.output_bias, back.config.model.output_bias) == (False, True)
    batch = text_batch(stored)
    with torch.no_grad():
        plain, moved = (each.model.project(each.model(batch)) for each in (stored, back))
    added = torch.zeros(stored.model.output_size)
    added[2:5] = torch.tensor([0.5, -1, 2])
    torch.testing.assert_close(moved, plain + added)
    export_huggingface(back, tmp_path / "again")
    assert (tmp_path / "again" / "model.safetensors").read_bytes() == (folder / "model.safetensors").read_bytes()


def test_a_row_of_padding_that_is_not_zero_is_kept(folder: Path, tmp_path: Path) -> None:
    """Whoever trains on in transformers moves it, and the decoder begins with it."""
    edit(folder, lambda weights: weights["model.shared.weight"][-1].fill_(0.5))
    import_model(folder, tmp_path / "back")
    assert load_model(tmp_path / "back").model.decoder.embedding.weight[-1].eq(0.5).all()


def test_half_precision_copies_and_tables_are_taken(folder: Path, stored: StoredModel, tmp_path: Path) -> None:
    from limelight.layers.embedding import sinusoids

    def older(weights: dict[str, Tensor]) -> None:
        for name in ("lm_head.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"):
            weights[name] = weights["model.shared.weight"].clone()
        weights["model.encoder.embed_positions.weight"] = sinusoids(torch.arange(64), 12, layout="halves")
        weights.update({name: tensor.half() for name, tensor in weights.items()})

    edit(folder, older)
    import_model(folder, tmp_path / "back")
    found = named_weights(load_model(tmp_path / "back").model)
    for name, weight in named_weights(stored.model).items():
        assert torch.equal(found[name], weight.half().float())


# ---- what cannot be


def edit(folder: Path, change: Callable[[dict[str, Tensor]], object]) -> None:
    """Other weights in the file."""
    weights = {name: tensor.clone() for name, tensor in read_weights(folder / "model.safetensors")[0].items()}
    change(weights)
    save_weights(folder / "model.safetensors", weights)


def change_config(folder: Path, **changes: object) -> None:
    values = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**values, **changes}))


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda w: w.pop("model.encoder.layers.1.fc1.bias"), r"missing: model\.encoder\.layers\.1\.fc1\.bias$"),
        (lambda w: w.update({"model.encoder.layer_norm.weight": torch.ones(12)}), r"left over: model\.encoder\.layer"),
        (lambda w: w.update({"lm_head.weight": torch.ones(387, 12)}), "lm_head.weight should be the same as"),
        (
            lambda w: w.update({"final_logits_bias": torch.zeros(1, 5)}),
            r"final_logits_bias is \(5,\), and there are 387 tokens",
        ),
        (lambda w: w.update({"model.decoder.layers.0.fc1.bias": torch.ones(3)}), r"is \(3,\), expected \(17,\)"),
        (lambda w: w["model.shared.weight"][0, 0].fill_(torch.nan), "NaN or infinity"),
    ],
)
def test_weights_that_are_not_those_of_the_model(folder: Path, tmp_path: Path, change: Callable, fault: str) -> None:
    edit(folder, change)
    with pytest.raises(UserError, match=fault):
        import_model(folder, tmp_path / "back")
    assert not (tmp_path / "back").exists()


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"decoder_start_token_id": 387}, "decoder_start_token_id=387 is not the id of a token"),
        ({"eos_token_id": 2}, "eos_token_id is 2, and </s> has the id 0"),
        ({"d_model": 24}, "expected"),
    ],
)
def test_configurations_that_belong_to_other_files(folder: Path, tmp_path: Path, changes: dict, fault: str) -> None:
    change_config(folder, **changes)
    with pytest.raises(UserError, match=fault):
        import_model(folder, tmp_path / "back")


def test_a_size_of_the_vocabulary_that_memory_cannot_hold_is_refused(tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_text('{"</s>": 0}')
    with pytest.raises(UserError, match="do not fit vocab_size=1,000,000,000,000"):
        read_m2m100(tmp_path, {"vocab_size": 10**12}, transformer(), "de", "en")


def test_folders_that_hold_no_weights(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"elsewhere: there is no such file or folder$"):
        import_model(tmp_path / "elsewhere", tmp_path / "back")
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    with pytest.raises(UserError, match=r"s: is missing. .* several files, or a pickle .*, which can .*max_shard_size"):
        import_model(folder, tmp_path / "back")


POST_NORM = {"norm": ["post"], "positions": ["sinusoidal"]}


def marian(**changes: object) -> dict:
    return {**_OPTIONAL, **_settings(transformer(sinusoid_layout="halves"), 31), **changes}


@pytest.mark.parametrize(
    ("config", "reasons"),
    [
        (RecurrentConfig(), "model.family=recurrent: no other format"),
        (transformer(norm="pre", positions="learned"), "norm=pre (supported: post); model.positions=learned"),
        (
            transformer(score="dot", decoder_autoreg="ssru"),
            "model.score=dot (supported: scaled_dot); model.decoder_aut",
        ),
        (transformer(head_size=6, value_size=6), "model.head_size=6 (supported: 4); model.value_size=6"),
        (
            transformer(kv_heads=1, norm_type="rms_norm"),
            "model.norm_type=rms_norm (supported: layer_norm); model.kv_he",
        ),
        (transformer(head_size=4, value_size=4), ""),
    ],
)
def test_what_another_format_lacks_is_named_together(config: ModelConfig, reasons: str) -> None:
    assert reasons in "; ".join(lacking(config, POST_NORM))
    assert bool(reasons) == bool(list(lacking(config, POST_NORM)))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model_type": "bart"}, "a model of type 'bart'; Marian, M2M100 and NLLB models"),
        ({"vocab_size": None, "eos_token_id": [0]}, "an integer is required for vocab_size, eos_token_id"),
        ({"activation_function": "gelu_new"}, r"activation_function=gelu_new \(supported: relu, gelu, swish"),
        ({"decoder_attention_heads": 2}, r"decoder_attention_heads=2 \(supported: 3"),
        ({"scale_embedding": False, "normalize_before": True}, "scale_embedding=False.*; normalize_before=True"),
        ({"static_position_embeddings": False}, "static_position_embeddings=False"),
        ({"d_model": 10**9}, "model.d_model: input should be less than"),
        ({"model_type": "m2m_100", "max_position_embeddings": 10**6, "d_model": 999_000}, "larger than those of any"),
    ],
)
def test_a_foreign_configuration_is_refused(changes: dict, reason: str) -> None:
    with pytest.raises(UserError, match=f"^config.json: .*{reason}"):
        read_config(marian(**changes), "config.json")


def test_a_subword_is_no_language() -> None:
    names = ["de", "en", "deu_Latn", "eng_Latn"]
    with pytest.raises(UserError, match="de, en: none of its languages"):
        _languages(names, "de", "en", "nllb")
    assert _languages(names, "de=deu_Latn", "eng_Latn", "nllb") == {"de": "deu_Latn", "eng_Latn": "eng_Latn"}
    for sources, targets in (("de=deu_Latn,ger=deu_Latn", "eng_Latn"), ("en=deu_Latn", "en=eng_Latn")):
        with pytest.raises(UserError, match=r"=deu_Latn.*: give each language one name"):
            _languages(names, sources, targets, "nllb")
