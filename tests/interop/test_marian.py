"""Marian checkpoints and students become ours, number by number; damaged ones are refused."""

import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml

from limelight.config import Direction, TransformerConfig, directions_of
from limelight.decoding.engine import Engine
from limelight.decoding.request import Request
from limelight.errors import UserError
from limelight.interop import export_limelight, import_model
from limelight.interop.marian import read_binary
from limelight.interop.names import MARIAN, names_in, to_theirs
from limelight.interop.vocabularies import sentencepiece_of
from limelight.pipelines.load import load_translator
from limelight.storage.model import StoredModel, load_model
from limelight.storage.weights import named_weights
from tests.interop.helpers import ENGLISH, make_stored, make_tokenizers, transformer

STUDENT = {"decoder_autoreg": "ssru", "tie": "three-way"}
FORMS = [
    (STUDENT, True),
    ({"norm": "pre", "tie": "two-way", "activation": "swish"}, False),
    ({"norm": "post", "tie": "none"}, False),
]


def settings(config: TransformerConfig, **changes: object) -> dict:
    pre = config.norm == "pre"
    return {
        "type": "transformer",
        "dim-emb": config.d_model,
        "enc-depth": config.encoder_layers,
        "dec-depth": config.decoder_layers,
        "transformer-heads": config.heads,
        "transformer-dim-ffn": config.d_ff,
        "transformer-ffn-activation": config.activation,
        "transformer-decoder-autoreg": "rnn" if config.decoder_autoreg == "ssru" else "self-attention",
        "dec-cell": "ssru",
        "transformer-preprocess": "n" if pre else "",
        "transformer-postprocess": "da" if pre else "dan",
        "transformer-postprocess-top": "n" if pre else "",
        "transformer-postprocess-emb": "d",
        "tied-embeddings-all": config.tie == "three-way",
        "tied-embeddings": config.tie == "two-way",
        **changes,
    }


def arrays_of(stored: StoredModel) -> dict[str, np.ndarray]:
    """The tensors as Marian keeps them: matrices (in, out), vectors as rows, no row of padding."""
    config = stored.config.model
    weights = named_weights(stored.model)
    for name in ("encoder.embedding.weight", "decoder.embedding.weight"):
        if name in weights:
            weights[name] = weights[name][:-1]
    first = dict[tuple[str, ...], str]()
    for theirs, ours in names_in(MARIAN, config).items():
        first.setdefault(ours, theirs)
    arrays = {}
    for name, tensor in to_theirs(weights, {theirs: ours for ours, theirs in first.items()}).items():
        if tensor.ndim == 1:
            arrays[name] = tensor[None].numpy()
        else:
            arrays[name] = (tensor if name.endswith("Wemb") else tensor.T.contiguous()).numpy()
    return arrays


def yaml_of(values: dict) -> np.ndarray:
    return np.frombuffer(yaml.safe_dump(values).encode() + b"\0", np.int8)


def write_npz(stored: StoredModel, folder: Path, **changes: object) -> Path:
    folder.mkdir()
    values = yaml_of(settings(stored.config.model, **changes))
    np.savez(folder / "model.npz", **arrays_of(stored), **{"special:model.yml": values})
    for tokenizer, name in zip(stored.tokenizers, ("srcvocab.spm", "trgvocab.spm"), strict=True):
        (folder / name).write_bytes(sentencepiece_of(tokenizer))
    return folder


def write_binary(stored: StoredModel, folder: Path) -> Path:
    """A student: matrices as int8 with one multiplier each, transposed but for embeddings."""
    folder.mkdir()
    values = yaml_of(settings(stored.config.model)).tobytes()
    items = [("special:model.yml", 0x101, (len(values),), values)]
    for name, array in arrays_of(stored).items():
        if len(array) == 1:
            items.append((name, 0x404, array.shape, array.tobytes()))
            continue
        multiplier = np.float32(127 / abs(array).max())
        whole = np.rint(array * multiplier).astype(np.int8)
        content = (whole if name.endswith("Wemb") else whole.T).tobytes() + multiplier.tobytes() + bytes(60)
        items.append((name, 0x4101, array.shape, content))
        items.append((f"{name}_QuantMultA", 0x404, (1, 1), bytes(256)))
    head = struct.pack("<QQ", 1, len(items))
    head += b"".join(struct.pack("<4Q", len(name) + 1, kind, len(axes), len(raw)) for name, kind, axes, raw in items)
    head += b"".join(name.encode() + b"\0" for name, *_ in items)
    head += b"".join(struct.pack(f"<{len(axes)}i", *axes) for _, _, axes, _ in items)
    padding = 256 - (len(head) + 8) % 256
    content = head + struct.pack("<Q", padding) + bytes(padding) + b"".join(raw for *_, raw in items)
    (folder / "model.ende.intgemm.bin").write_bytes(content)
    (folder / "vocab.ende.spm").write_bytes(sentencepiece_of(stored.tokenizers.source))
    table = [[2, 3], [4], []]  # no row after the last token with candidates
    begins = np.cumsum([0, *map(len, table)])
    listed = np.array([token for row in table for token in row], np.uint32)
    magic = struct.pack("<6Q", 0xF11A48D5013417F5, 0, 3, 2, len(begins), len(listed))
    (folder / "lex.s2t.bin").write_bytes(magic + begins.astype(np.uint64).tobytes() + listed.tobytes())
    return folder


def model(folder: Path, form: dict, *, joint: bool) -> StoredModel:
    tokenizers = make_tokenizers(joint=joint, byte_fallback=False, kind="unigram")
    config = transformer(**form, output_bias=True, sinusoid_layout="inclusive")
    stored = make_stored(folder, config, tokenizers)
    weights = named_weights(stored.model)
    for name in weights:
        if "embedding" in name:
            weights[name][-1] = 0
    return stored


@pytest.fixture(scope="module")
def student(tmp_path_factory: pytest.TempPathFactory) -> StoredModel:
    return model(tmp_path_factory.mktemp("student") / "model", STUDENT, joint=True)


@pytest.mark.parametrize(("form", "joint"), FORMS, ids=["student", "pre", "post"])
def test_every_number_of_a_checkpoint_comes_back(form: dict, joint: bool, tmp_path: Path, seed: int) -> None:
    stored = model(tmp_path / "model", form, joint=joint)
    import_model(write_npz(stored, tmp_path / "there"), tmp_path / "back", source_lang="en", target_lang="de")
    back = load_model(tmp_path / "back")
    assert back.config.model == stored.config.model
    weights, again = named_weights(stored.model), named_weights(back.model)
    assert [name for name in weights if not torch.equal(weights[name], again[name])] == []
    for ours, theirs in zip(stored.tokenizers, back.tokenizers, strict=True):
        assert list(map(theirs.encode, ENGLISH)) == list(map(ours.encode, ENGLISH))


def test_a_student_keeps_its_bytes_and_its_shortlist(student: StoredModel, tmp_path: Path) -> None:
    import_model(write_binary(student, tmp_path / "there"), tmp_path / "back")
    back = load_model(tmp_path / "back")
    assert back.config.weights == "int8"
    assert directions_of(back.config.data) == (Direction("en", "de"),)  # of the file's name
    for name, weight in named_weights(student.model).items():
        steps = 2 * abs(weight).max() / 127
        torch.testing.assert_close(named_weights(back.model)[name], weight, rtol=0, atol=float(steps))
    export_limelight(back, tmp_path / "again", quantization="int8")  # with its shortlist
    translator = load_translator(tmp_path / "again", shortlist=True)
    assert translator.translate(ENGLISH[:2], beam_size=2, max_length_extra=3, lines=True)


def test_vocabularies_as_lists(student: StoredModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of OPUS-MT: one list in YAML, and a sentencepiece model for each side. A code before a text is for all of its
    sentences."""
    folder = write_npz(student, tmp_path / "there")
    pieces = student.tokenizers.source.pieces(range(student.tokenizers.source.padding))
    pieces[9] = ">>deu<<"
    lines = [f'"{piece}": {number}' if number % 2 else f"{piece}: {number}" for number, piece in enumerate(pieces)]
    lines[5] = f'? "{pieces[5]}"\n: 5'
    (folder / "opus.vocab.yml").write_text("\n".join(lines).replace('"""', '"\\""'), encoding="utf-8")
    for name, new in (("srcvocab.spm", "source.spm"), ("trgvocab.spm", "target.spm")):
        (folder / name).rename(folder / new)
    import_model(folder / "model.npz", tmp_path / "back")
    back = load_model(tmp_path / "back").tokenizers.source
    assert back.pieces(range(back.padding)) == pieces
    seen, submit = list[Request](), Engine.submit

    def watched(engine: Engine, request: Request, **how: Any) -> object:
        seen.append(request)
        return submit(engine, request, **how)

    monkeypatch.setattr(Engine, "submit", watched)
    load_translator(tmp_path / "back").translate(">>deu<< The small dog runs. Two birds sing.", beam_size=1)
    assert len(seen) > 1
    assert {request.source[0] for request in seen} == {9}


@pytest.mark.parametrize(
    ("changes", "faults"),
    [
        ({"type": "s2s", "transformer-postprocess-emb": "n"}, r"type=s2s .*; transformer-postprocess-emb=n"),
        ({"transformer-ffn-activation": "gelu"}, r"transformer-ffn-activation=gelu .supported: relu, swish"),
        ({"transformer-preprocess": "n"}, "neither post-norm nor pre-norm"),
        ({"dim-emb": 24}, "expected"),
    ],
)
def test_what_our_models_lack_is_named_together(
    changes: dict, faults: str, student: StoredModel, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=faults):
        import_model(write_npz(student, tmp_path / "there", **changes), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("damage", ["cut", "flip", "huge"])
def test_damaged_bytes_are_an_error(damage: str, student: StoredModel, tmp_path: Path, seed: int) -> None:
    folder = write_binary(student, tmp_path / "there")
    path = folder / "model.ende.intgemm.bin"
    content = path.read_bytes()
    chance = random.Random(seed)
    for _ in range(60):
        at = chance.choice((chance.randrange(len(content)), chance.randrange(4000)))
        broken = bytearray(content)
        if damage == "cut":
            del broken[at:]
        elif damage == "flip":
            broken[at] ^= 1 << chance.randrange(8)
        else:
            broken[at : at + 8] = struct.pack("<Q", 2**63)
        message = ""
        try:
            found = read_binary(memoryview(broken), "model.bin")
            assert sum(each.values.nbytes for each in found.values()) <= len(broken)
        except UserError as error:
            message = str(error)
        assert not message or message.startswith("model.bin: ")
    path.write_bytes(content[:-300])
    with pytest.raises(UserError, match=r"model.ende.intgemm.bin: ends at byte .*damaged"):
        import_model(folder, tmp_path / "out")
    path.write_bytes(content)
    (folder / "lex.s2t.bin").write_bytes((folder / "lex.s2t.bin").read_bytes()[:-2])
    with pytest.raises(UserError, match=r"lex.s2t.bin: ends at byte"):
        import_model(folder, tmp_path / "out")
    size = student.tokenizers.source.padding
    begins = np.array([0, *[1001] * (size + 1)], np.uint64)
    head = struct.pack("<6Q", 0xF11A48D5013417F5, 0, 0, 0, len(begins), 1001)
    (folder / "lex.s2t.bin").write_bytes(head + begins.tobytes() + bytes(4 * 1001))
    with pytest.raises(UserError, match=r"lex.s2t.bin: this shortlist is not one of the model's"):
        import_model(folder, tmp_path / "out")


def test_only_the_file_of_a_student_names_languages(student: StoredModel, tmp_path: Path) -> None:
    folder = write_npz(student, tmp_path / "there")
    path = (folder / "model.npz").rename(folder / "model.base.npz")
    assert import_model(folder, tmp_path / "out") == ()
    assert import_model(path.rename(folder / "model.npz.best"), tmp_path / "best") == ()  # it is known by its content


def test_a_pickle_in_a_checkpoint_is_not_read(student: StoredModel, tmp_path: Path) -> None:
    folder = write_npz(student, tmp_path / "there")
    values = yaml_of(settings(student.config.model))
    np.savez(folder / "model.npz", **{"special:model.yml": values}, Wemb=np.array([{}], dtype=object))
    with pytest.raises(UserError, match=r"model.npz: cannot be read: Object arrays cannot be loaded"):
        import_model(folder, tmp_path / "out")
