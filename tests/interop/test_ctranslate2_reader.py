"""CTranslate2 folders and Argos packages become ours, number by number; damaged ones are refused."""

import json
import random
import struct
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import ctranslate2
import pytest
import sentencepiece
import torch

from limelight.config import Direction, directions_of
from limelight.errors import UserError
from limelight.interop import ctranslate2_reader, export_argos, export_ctranslate2, files, import_model
from limelight.interop.ctranslate2_reader import read_variables
from limelight.interop.names import CTRANSLATE2
from limelight.pipelines.load import load_translator
from limelight.pipelines.options import SEARCH_ONLY
from limelight.storage.model import StoredModel, load_model
from limelight.storage.weights import named_weights, read_weights
from tests.interop.helpers import ENGLISH, make_stored, make_tokenizers, text_batch, transformer

FORMS = [
    {"norm": "post", "tie": "three-way", "sides": "joint", "sinusoid_layout": "halves"},
    {"norm": "pre", "tie": "two-way", "sides": "joint", "activation": "gelu", "output_bias": True},
    {"norm": "pre", "tie": "none", "sides": "separate", "activation": "swish", "positions": "rotary"},
    {"norm": "post", "tie": "none", "sides": "separate", "positions": "learned", "max_positions": 64},
]


def exported(folder: Path, form: dict, **options: str) -> StoredModel:
    """A random model, and the same one in `folder / "there"`."""
    changes = dict(form)
    tokenizers = make_tokenizers(joint=changes.pop("sides") == "joint", byte_fallback=False)
    stored = make_stored(folder / "model", transformer(**changes), tokenizers)
    export_ctranslate2(stored, folder / "there", **options)
    return stored


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ctranslate2")
    exported(folder, FORMS[0], quantization="int8")
    return folder / "there"


@pytest.mark.parametrize("form", FORMS, ids=lambda form: f"{form['norm']}-{form['tie']}")
def test_every_number_comes_back(form: dict, tmp_path: Path, seed: int) -> None:
    stored = exported(tmp_path, form)
    assert import_model(tmp_path / "there", tmp_path / "back") == ()
    back = load_model(tmp_path / "back")
    # Dropout is not stored there.
    assert back.config.model.model_copy(update={"dropout": 0.1}) == stored.config.model
    weights, again = named_weights(stored.model), named_weights(back.model)
    assert [name for name in weights if not torch.equal(weights[name], again[name])] == []
    for ours, theirs in zip(stored.tokenizers, back.tokenizers, strict=True):
        assert list(map(theirs.encode, ENGLISH)) == list(map(ours.encode, ENGLISH))
        assert theirs.reserved == ours.reserved


def test_rows_of_int8_are_taken_over_with_their_scales(there: Path, tmp_path: Path) -> None:
    """They are not rounded a second time."""
    import_model(there, tmp_path / "back", source_lang="en", target_lang="de")
    weights = read_weights(tmp_path / "back" / "model.safetensors")[0]
    arrays = read_variables(memoryview((there / "model.bin").read_bytes()), "model.bin")
    theirs = arrays["encoder/layer_0/self_attention/linear_0/weight"]
    parts = [weights[f"encoder.layers.0.attention.{part}_proj.weight"] for part in ("query", "key", "value")]
    assert torch.equal(torch.cat(parts), theirs)
    scales = [weights[f"encoder.layers.0.attention.{part}_proj.weight.scale"] for part in ("query", "key", "value")]
    assert torch.equal(torch.cat(scales), 1 / arrays["encoder/layer_0/self_attention/linear_0/weight_scale"])
    config = load_model(tmp_path / "back").config
    assert config.weights == "int8"
    assert directions_of(config.data) == (Direction("en", "de"),)


@pytest.mark.parametrize("quantization", ["float16", "bfloat16", "int16"])
def test_other_numbers_become_fp32(quantization: str, tmp_path: Path, seed: int) -> None:
    stored = exported(tmp_path, FORMS[1], quantization=quantization)
    import_model(tmp_path / "there", tmp_path / "back")
    batch = text_batch(stored)
    with torch.no_grad():
        ours, theirs = (each.model.project(each.model(batch)) for each in (stored, load_model(tmp_path / "back")))
    assert (ours - theirs).abs().mean() < 0.1 * ours.std()
    assert load_model(tmp_path / "back").config.weights == "fp32"


def package(there: Path, path: Path, **metadata: object) -> Path:
    """An Argos package with this model."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        values = {"from_code": "en", "to_code": "de", "package_version": "1.0", **metadata}
        archive.writestr("translate-en_de/metadata.json", json.dumps(values))
        archive.write(there / "source.spm", "translate-en_de/sentencepiece.model")
        for name in ("model.bin", "config.json", "shared_vocabulary.json"):
            archive.write(there / name, f"translate-en_de/model/{name}")
    return path


def test_a_package_of_our_own_comes_back(tmp_path: Path, seed: int) -> None:
    """Its CTranslate2 folder is loaded by CTranslate2, and its structure is that of Argos packages."""
    stored = make_stored(tmp_path / "model", transformer(), make_tokenizers(joint=True, byte_fallback=False))
    with pytest.raises(UserError, match="translates in one named direction, and this model has 0"):
        export_argos(stored, tmp_path / "en_de.argosmodel")
    data = stored.config.data.model_copy(update={"inherited": (("en", "de"),)})
    named = replace(stored, config=stored.config.model_copy(update={"data": data}))
    export_argos(named, tmp_path / "en_de.argosmodel")
    assert import_model(tmp_path / "en_de.argosmodel", tmp_path / "back") == (Direction("en", "de"),)
    again = named_weights(load_model(tmp_path / "back").model)
    assert all(torch.equal(again[name], weight) for name, weight in named_weights(stored.model).items())
    with zipfile.ZipFile(tmp_path / "en_de.argosmodel") as archive:
        archive.extractall(tmp_path / "there")
    folder = tmp_path / "there" / "translate-en_de-1_0"
    assert json.loads((folder / "metadata.json").read_text())["from_code"] == "en"
    there = ctranslate2.Translator(str(folder / "model"), compute_type="float32")
    split = sentencepiece.SentencePieceProcessor(model_file=str(folder / "sentencepiece.model"))
    found = there.translate_batch([split.encode(ENGLISH[0], out_type=str)], beam_size=1, max_decoding_length=5)
    ours = load_translator(tmp_path / "model").translate(ENGLISH[0], beam_size=1, **SEARCH_ONLY)
    assert found[0].hypotheses[0] == list(ours.tokens[:5])
    separate = make_tokenizers(joint=False, byte_fallback=False)
    other = make_stored(tmp_path / "other", transformer(tie="none"), separate)
    with pytest.raises(UserError, match=r"a package has one sentencepiece model.*; .*one named direction"):
        export_argos(other, tmp_path / "no.argosmodel")


def test_packages_of_other_kinds(there: Path, tmp_path: Path) -> None:
    path = package(there, tmp_path / "en_de.argosmodel", target_prefix="__de__", type="x")
    with pytest.raises(UserError, match=r"type=x.*; target_prefix=__de__"):
        import_model(path, tmp_path / "back")


def test_what_is_not_the_name_of_a_language_is_left_out(there: Path, tmp_path: Path) -> None:
    path = package(there, tmp_path / "a.argosmodel", from_code="cat+oci+spa")
    assert import_model(path, tmp_path / "back") == ()


def attempt(read: Callable[[], Any]) -> tuple[Any, str]:
    """What it returns, or the message of its error."""
    try:
        return read(), ""
    except UserError as error:
        return None, str(error)


def size_of(tensor: torch.Tensor) -> int:
    return tensor.nbytes


@pytest.mark.parametrize("damage", ["cut", "flip", "insert", "huge"])
def test_damaged_bytes_are_an_error_that_names_the_file(damage: str, there: Path, seed: int) -> None:
    """Of any part of the file; the numbers of weights are the one thing that may change unseen."""
    content = (there / "model.bin").read_bytes()
    chance = random.Random(seed)
    for _ in range(40):
        at = chance.choice((chance.randrange(len(content)), chance.randrange(600)))
        broken = bytearray(content)
        if damage == "cut":
            del broken[at:]
        elif damage == "flip":
            broken[at] ^= 1 << chance.randrange(8)
        elif damage == "insert":
            broken[at:at] = chance.randbytes(chance.randrange(1, 9))
        else:
            broken[at : at + 4] = struct.pack("<I", 0xFFFFFFFF)
        found, fault = attempt(lambda: read_variables(memoryview(broken), "model.bin"))  # noqa: B023
        assert (
            fault.startswith("model.bin: ") if found is None else sum(map(size_of, found.values())) < 3 * len(content)
        )


@pytest.mark.parametrize("name", ["model.bin", "config.json", "shared_vocabulary.json", "source.spm"])
def test_a_folder_with_a_damaged_file(name: str, there: Path, tmp_path: Path, seed: int) -> None:
    """Either all is as it was, or an error names a path, and nothing is written."""
    chance = random.Random(seed)
    content = (there / name).read_bytes()
    for number in range(6):
        folder = tmp_path / str(number)
        folder.mkdir()
        for path in there.iterdir():
            (folder / path.name).write_bytes(path.read_bytes())
        broken = bytearray(content)
        at = chance.randrange(min(len(content), 2000))
        if number % 2:
            del broken[at:]
        else:
            broken[at] ^= 1 << chance.randrange(8)
        (folder / name).write_bytes(broken)
        found, fault = attempt(lambda: import_model(folder, folder / "out"))  # noqa: B023
        assert found is not None or (str(folder) in fault and not (folder / "out").exists())


def test_archives_that_would_harm(there: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left outside the temporary folder; sizes are bounded by that of the archive."""
    bomb = tmp_path / "bomb.argosmodel"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/metadata.json", '{"from_code": "en", "to_code": "de"}')
        archive.writestr("a/sentencepiece.model", (there / "source.spm").read_bytes())
        archive.writestr("a/model/model.bin", bytes(50_000_000))
    with pytest.raises(UserError, match=r"bomb.argosmodel: holds 50,.* bytes, and at most"):
        import_model(bomb, tmp_path / "out")
    slip = package(there, tmp_path / "slip.argosmodel")
    with zipfile.ZipFile(slip, "a") as archive:
        archive.writestr("translate-en_de/../../evil", "evil")
        archive.writestr("/evil", "evil")
    import_model(slip, tmp_path / "out")
    assert not list(tmp_path.parent.rglob("evil"))
    with zipfile.ZipFile(slip) as archive:
        archive.extractall(tmp_path / "outside")
    with zipfile.ZipFile(tmp_path / "climb.argosmodel", "w") as archive:
        archive.writestr(f"{'../' * 20}{tmp_path}/outside/translate-en_de/metadata.json", "{}")
        archive.writestr("model/model.bin", "")
    with pytest.raises(UserError, match=r"climb.argosmodel: .*this package cannot be imported: it has no sentencep"):
        import_model(tmp_path / "climb.argosmodel", tmp_path / "other")
    whole = package(there, tmp_path / "whole.argosmodel").read_bytes()
    for cut in (30, len(whole) // 2, len(whole) - 5):
        (tmp_path / "cut.argosmodel").write_bytes(whole[:cut])
        with pytest.raises(UserError, match=r"cut.argosmodel: .*damaged"):
            import_model(tmp_path / "cut.argosmodel", tmp_path / "other")
    monkeypatch.setattr(files, "MAX_JSON_BYTES", 100)
    with pytest.raises(UserError, match="at most 100"):
        import_model(package(there, tmp_path / "en_de.argosmodel"), tmp_path / "other")


def test_what_our_models_lack_is_named_together(tmp_path: Path) -> None:
    from ctranslate2.specs import TransformerSpec, transformer_spec

    shared = {"num_heads": 2, "pre_norm": True, "ffn_glu": True}
    specification = TransformerSpec(
        transformer_spec.TransformerEncoderSpec(1, relative_position=True, **shared),
        transformer_spec.TransformerDecoderSpec(1, alibi=True, **shared),
    )
    specification.encoder.layer[0].self_attention.queries_scale = 1.0
    names: list[str] = []
    specification._visit(lambda _spec, name, _value: names.append(name))
    with (tmp_path / "model.bin").open("wb") as file:
        file.write(struct.pack("<IH16sII", 6, 16, b"TransformerSpec", 7, len(names)))
        for name in names:
            file.write(struct.pack("<H", len(name) + 1) + name.encode() + b"\0")
            if name == "decoder/alibi" or name.endswith(("num_heads", "pre_norm", "queries_scale")):
                file.write(struct.pack("<BBIb", 0, 1, 1, 1))
            else:
                file.write(struct.pack("<BIBIf", 1, 1, 0, 4, 0.0))
        file.write(struct.pack("<I", 0))
    values = {"eos_token": "</s>", "add_source_eos": True, "layer_norm_epsilon": {"a": 1}}
    (tmp_path / "config.json").write_text(json.dumps(values))
    lacking = r"self_attention/queries_scale=1.*decoder/alibi=1.*layer_norm_epsilon={'a': 1} \(supported: 1e-05\)"
    with pytest.raises(UserError, match=lacking):
        import_model(tmp_path, tmp_path / "out")


def test_a_scale_of_one_is_not_the_flag(there: Path, tmp_path: Path) -> None:
    content = (there / "model.bin").read_bytes()
    at = content.index(b"encoder/scale_embeddings") + 31
    (tmp_path / "model.bin").write_bytes(content[:at] + struct.pack("<f", 1) + content[at + 4 :])
    (tmp_path / "config.json").write_bytes((there / "config.json").read_bytes())
    with pytest.raises(UserError, match=r"encoder/scale_embeddings=1 \(supported: 3.46"):
        import_model(tmp_path, tmp_path / "out")


def test_a_bias_of_zeros_may_be_left_out(there: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = ctranslate2_reader._in_our_forms

    def without_bias(*given: Any) -> dict[str, Any]:
        return {name: tensor for name, tensor in real(*given).items() if name != CTRANSLATE2.bias}

    monkeypatch.setattr(ctranslate2_reader, "_in_our_forms", without_bias)
    import_model(there, tmp_path / "out")
    assert not load_model(tmp_path / "out").config.model.output_bias


def test_a_folder_without_its_sentencepiece_model(there: Path, tmp_path: Path) -> None:
    for name in ("model.bin", "config.json", "shared_vocabulary.json"):
        (tmp_path / name).write_bytes((there / name).read_bytes())
    with pytest.raises(UserError, match=r"source.spm: is missing: .* put the files"):
        import_model(tmp_path, tmp_path / "out")
    (tmp_path / "spm.model").write_bytes((there / "source.spm").read_bytes())
    import_model(tmp_path / "model.bin", tmp_path / "out")
