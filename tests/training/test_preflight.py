"""A mistake that shows without the text is told before the text is read."""

import sys
from pathlib import Path

import pytest

from limelight.config import (
    Corpus,
    DataConfig,
    DecoderOnlyConfig,
    EncoderOnlyConfig,
    ModelConfig,
    RecurrentConfig,
    RunConfig,
    TransformerConfig,
    override,
)
from limelight.errors import UserError
from limelight.recipes import find_recipe
from limelight.training.preflight import check_run, require_one_kind
from tests.training.helpers import go, tiny_run
from tests.training.texts import text_run

PAIRS, TEXT = {"train": (Corpus(files=("pairs.tsv",)),)}, {"text": ("text.txt",)}
FORMAL = (Corpus(files=("formal.tsv",), side_constraint="formal"),)
FAULTS = [
    (TransformerConfig(), {}, r"transformer learns from --train FILE \(or two files\); given is nothing"),
    (RecurrentConfig(), TEXT, "recurrent learns from --train FILE .* given is --text"),
    (TransformerConfig(), PAIRS | TEXT, "given are --text and --train"),
    (DecoderOnlyConfig(), PAIRS, r"learns from --text FILE\.\.\.; given is --train"),
    (EncoderOnlyConfig(), {}, r"the family encoder_only learns from --text FILE\.\.\. or --train FILE"),
    (DecoderOnlyConfig(), TEXT | {"valid": PAIRS["train"]}, "text for validation is of the kind"),
    (TransformerConfig(), PAIRS | {"valid_text": TEXT["text"]}, "text for validation is of the kind"),
    (TransformerConfig(), PAIRS | {"valid": FORMAL}, "a corpus for validation has no tag"),
    (EncoderOnlyConfig(), {"train": FORMAL}, "--tag are for models that translate"),
    (EncoderOnlyConfig(), PAIRS | {"temperature": 2.0}, r"data\.temperature are for pairs"),
    (DecoderOnlyConfig(), TEXT | {"both_directions": True}, r"data\.both_directions and .* are for pairs"),
]


@pytest.mark.parametrize(("model", "data", "fault"), FAULTS)
def test_the_wrong_kind_of_text(model: ModelConfig, data: dict[str, object], fault: str) -> None:
    with pytest.raises(UserError, match=fault):
        require_one_kind(RunConfig(model=model, data=DataConfig(**data)))


IMPOSSIBLE = [
    ("model.heads=7", r"d_model=8 cannot be split over heads=7; take a divisor or set head_size"),
    ("training.device=cuda", r"device cuda: this machine, or this build of torch, has only cpu"),
    ("tokens.kind=characters", r"tokens\.sampling is 0\.2, but tokens\.kind=characters is not sampled"),
    ("tokens.joint=false", r"model\.tie=three-way .* set tokens\.joint=true, or model\.tie=two-way"),
    ("tokens.vocabulary_size=600000", r"tokens\.vocabulary_size is 600,000; it must be .* at most 500,000"),
    ("model.positions=learned model.max_positions=20", r"batching\.max_length=256 is more than the 20 positions"),
    ("training.bleu_tokenize=ko-mecab", "tokenize='ko-mecab' needs more than is installed"),
    ("training.loggers=[wandb]", r"training\.loggers=wandb: .*pip install"),
    ("augmentation.name_lists=[gone.txt]", r"gone\.txt: there is no such file"),
    ("training.loggers=[x]", "unknown logger 'x'; choose from tensorboard, wandb, trackio, or name its --plugin"),
    ('training.freeze=["lexicon"]', r"training\.freeze=lexicon: .* it has embeddings, encoder, decoder"),
    ('training.freeze=["encoder","decoder"]', "nothing is left to train"),
    ("model.positions=rotary model.d_model=6", r"the head size must be even, not 3"),
]


@pytest.mark.parametrize(("settings", "fault"), IMPOSSIBLE)
def test_impossible_settings_cost_no_preparation_and_leave_nothing(
    settings: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    for module in ("wandb", "mecab_ko"):
        monkeypatch.setitem(sys.modules, module, None)
    refused(override(tiny_run(tmp_path / "text"), settings.split()), fault, tmp_path, monkeypatch)


def refused(config: RunConfig, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Training is refused before any text is prepared, and of the run folder nothing stays."""
    prepared: list[object] = []
    monkeypatch.setattr("limelight.training.run.prepare_data", lambda *arguments: prepared.append(arguments))
    with pytest.raises(UserError, match=fault):
        go(config, tmp_path / "run")
    assert prepared == []
    assert not (tmp_path / "run").exists()


def back_translated(config: RunConfig, role: str = "train") -> RunConfig:
    corpora = tuple(corpus.model_copy(update={"tag": "bt"}) for corpus in config.data.train)
    return config.model_copy(update={"data": config.data.model_copy(update={role: corpora})})


def test_a_parent_without_the_tag_of_back_translated_text_is_refused_with_a_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = tiny_run(tmp_path / "text", max_steps=1)
    go(plain, tmp_path / "plain")
    go(back_translated(plain), tmp_path / "tagged")
    child = back_translated(plain).model_copy(update={"begin_with": str(tmp_path / "plain")})
    fault = "plain: .* no reserved token <bt>; --extend-vocabulary adds it"
    refused(child, fault, tmp_path, monkeypatch)
    check_run(child.model_copy(update={"begin_with": str(tmp_path / "tagged")}), tmp_path / "run")
    check_run(plain.model_copy(update={"begin_with": str(tmp_path / "tagged")}), tmp_path / "run")


def on_files(config: RunConfig, role: str, *files: Path, **languages: str) -> RunConfig:
    corpora = (Corpus(files=tuple(map(str, files)), **languages),)
    return config.model_copy(update={"data": config.data.model_copy(update={role: corpora})})


@pytest.mark.parametrize("role", ["train", "valid"])
def test_a_file_that_cannot_be_read_is_told_at_once(role: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tiny_run(tmp_path / "text")
    gone, table, first = tmp_path / "gone.tsv", tmp_path / "table.xyz", tmp_path / "first.tsv"
    table.write_text("one\teins\n")
    first.write_text("no tabulator\n" + "one\teins\n" * 9)
    refused(on_files(config, role, gone), r"gone\.tsv: there is no such file", tmp_path, monkeypatch)
    refused(on_files(config, role, table), r"table\.xyz: one file must hold both sides", tmp_path, monkeypatch)
    refused(on_files(config, role, first), r"first\.tsv:1: there is no TAB", tmp_path, monkeypatch)
    skipping = config.model_copy(update={"data": config.data.model_copy(update={"on_bad_line": "skip"})})
    check_run(on_files(skipping, role, first), tmp_path / "run")


@pytest.mark.parametrize("link", [False, True])
def test_validating_on_the_text_that_is_learned_is_refused(
    link: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny_run(tmp_path / "text")
    same = Path(config.data.train[0].files[0])
    if link:
        (tmp_path / "other.tsv").symlink_to(same)
        same = tmp_path / "other.tsv"
    refused(on_files(config, "valid", same), rf"{same} is given for training and for validation", tmp_path, monkeypatch)
    plain = text_run(tmp_path / "plain")
    data = plain.data.model_copy(update={"valid_text": plain.data.text})
    with pytest.raises(UserError, match=r"text\.txt is given for training and for validation"):
        check_run(plain.model_copy(update={"data": data}), tmp_path / "run")


def test_an_augmentation_of_plain_text_is_refused(tmp_path: Path) -> None:
    config = override(text_run(tmp_path / "text"), ["augmentation.lowercase=0.5"])
    with pytest.raises(UserError, match=r"augmentation, tokens\.sampling, .* are for pairs"):
        check_run(config, tmp_path / "run")


def test_more_files_than_a_configuration_holds_are_refused_at_once(tmp_path: Path) -> None:
    text = DataConfig(text=tuple(f"{'x' * 90}{number}.txt" for number in range(12_000)))
    with pytest.raises(UserError, match="name fewer files"):
        check_run(find_recipe("gpt-tiny").model_copy(update={"data": text}), tmp_path)
