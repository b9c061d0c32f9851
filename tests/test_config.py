"""The configuration: a closed schema, overrides that are strict, messages that help, nothing ever executed."""

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from limelight.config import (
    BatchingConfig,
    Corpus,
    DataConfig,
    RecurrentConfig,
    RunConfig,
    TrainingConfig,
    TransformerConfig,
    config_from,
    dump_config,
    known_keys,
    load_config,
    override,
)
from limelight.errors import UserError

# Without control characters and line separators: PyYAML folds U+0085 into a space, and no file is named so.
names = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=9)
models = st.one_of(
    st.builds(TransformerConfig, heads=st.integers(1, 16), head_size=st.none() | st.integers(1, 64),
              dropout=st.floats(0, 1, exclude_max=True), tie=st.sampled_from(["three-way", "two-way", "none"])),
    st.builds(RecurrentConfig, cell=st.sampled_from(["rnn", "gru", "lstm"]), bidirectional=st.booleans()),
)  # fmt: skip
corpora = st.builds(
    Corpus,
    files=st.lists(names, min_size=1, max_size=2).map(tuple),
    source=st.sampled_from(["en", "no", "y", "1e3"]),  # three of them are no text to a careless YAML writer
    weight=st.floats(1e-9, 1e9),
)
configs = st.builds(
    RunConfig,
    recipe=names,
    data=st.builds(DataConfig, train=st.lists(corpora, max_size=3).map(tuple)),
    batching=st.builds(BatchingConfig, tokens=st.integers(1, 2**40)),
    model=models,
    training=st.builds(
        TrainingConfig,
        seed=st.integers(0, 2**63),
        epsilon=st.floats(5e-324, 1),
        max_minutes=st.none() | st.floats(1e-6, 1e6),
    ),
)


def refused(values: dict) -> str:
    with pytest.raises(UserError) as caught:
        config_from(values)
    return str(caught.value)


# --- there and back ---


@given(configs)
def test_a_configuration_comes_back_from_yaml_as_it_was(config: RunConfig) -> None:
    assert config_from(yaml.safe_load(dump_config(config))) == config


def test_a_file_holds_every_setting_and_is_enough_to_run_again(tmp_path: Path) -> None:
    config = override(RunConfig(), ["training.learning_rate=3e-4", "model.norm=pre", "tokens.vocabulary_size=777"])
    (tmp_path / "config.yaml").write_text(dump_config(config), encoding="utf-8")
    assert load_config(tmp_path / "config.yaml") == config
    stored = yaml.safe_load((tmp_path / "config.yaml").read_text(encoding="utf-8"))
    written = {f"{section}.{key}" for section, keys in stored.items() if isinstance(keys, dict) for key in keys}
    assert written == set(known_keys("transformer"))


def test_the_format_is_written_and_the_one_before_is_read() -> None:
    assert dump_config(RunConfig()).startswith("format: 2\n")
    values = yaml.safe_load(dump_config(RunConfig()))
    assert config_from({**values, "format": 1}) == config_from(values) == RunConfig()
    del values["format"]
    assert config_from(values) == RunConfig()


@pytest.mark.parametrize("other", [0, 3, "2", True, None, 2.0, [2]])
def test_another_format_is_refused(other: object) -> None:
    assert re.search(
        r"format is .*, and this version of Limelight reads formats 1 to 2; use", refused({"format": other})
    )


@given(configs, st.integers(0, 2**31))
def test_an_override_changes_one_setting_and_nothing_else(config: RunConfig, number: int) -> None:
    changed = override(config, [f"training.seed={number}"])
    assert changed.training.seed == number
    assert override(changed, [f"training.seed={config.training.seed}"]) == config


# --- values of --set ---


@pytest.mark.parametrize(
    ("assignment", "expected"),
    [
        ("training.learning_rate=1e-3", 1e-3),  # YAML 1.1 reads this as text
        ("training.learning_rate=2", 2.0),
        ("training.max_steps=1e3", 1000),
        ("training.max_steps=null", None),
        ("tokens.joint=no", False),
        ("model.norm=pre", "pre"),
        (" training.seed =7", 7),
        ("data.train=[{files: [a.en, a.de], source: en}]", (Corpus(files=("a.en", "a.de"), source="en"),)),
    ],
)
def test_a_setting_is_read_as_a_person_means_it(assignment: str, expected: object) -> None:
    section, key = assignment.partition("=")[0].strip().split(".")
    assert getattr(getattr(override(RunConfig(), [assignment]), section), key) == expected


# --- mistakes: what is said, and that all of them are said at once ---


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("training.sed=7", "unknown setting training.sed; did you mean training.seed?"),
        ("zzz=7", "unknown setting zzz; known are recipe, begin_with, extend_vocabulary, data, tokens"),
        ("training=3", "--set training: that is a section; set one of training.seed, training.max_steps"),
        ("data.train.0.source=en", "train is a list; set the whole list"),
        ("training.seed=[", "'[' is not a valid YAML value"),
        ("training.seed=-1", "training.seed: input should be greater than or equal to 0, not -1"),
        ("model.dropout=1", "model.dropout: input should be less than 1, not 1"),
        ("tokens.kind=word", "tokens.kind: input should be 'bpe', 'unigram' or 'characters', not 'word'"),
        (
            "model.cell=gru",
            "model.cell is not a setting of the model family transformer; choose a recipe of a family that has it",
        ),
        ("model.family=recurrent", "the recipe's model is a transformer; choose another --recipe"),
    ],
)
def test_a_wrong_setting_is_refused_with_a_way_out(assignment: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        override(RunConfig(), [assignment])
    said = str(caught.value)
    assert message in said
    assert said.startswith("--set")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"training": {"joint": True}}, "unknown setting training.joint; did you mean tokens.joint?"),
        ({"model": {"heads": 2}}, "model: name the family of the model"),
        (
            {"model": {"family": "recurrent", "heads": 3}},
            "model.heads is not a setting of the model family recurrent",
        ),
        (
            {"data": {"train": [{"files": ["a"], "sorce": "en"}]}},
            "data.train.0.sorce; did you mean data.train.source?",
        ),
        ({"data": {"train": [{"files": ["a"], "columns": ["2"]}]}}, "data.train.0.columns."),
        ({1: 2}, "1: keys should be strings"),
        (
            {"model": {"family": "transformer", "d_model": 10**9}},
            "model.d_model: input should be less than or equal to",
        ),
    ],
)
def test_a_wrong_file_is_refused_with_a_way_out(values: dict, message: str) -> None:
    assert message in refused(values)


def test_all_faults_are_named_at_once() -> None:
    said = refused(
        {"training": {"seed": -5, "clip": 1}, "model": {"family": "transformer", "heads": 0}, "tokens": {"kind": "x"}}
    )
    for part in ("training.seed", "not -5", "training.clip_norm", "model.heads", "not 0", "tokens.kind", "not 'x'"):
        assert part in said


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"training: [", r"x\.yaml: not valid YAML"),
        (b"- 1\n- 2\n", "a configuration is a mapping of sections, this is a list"),
        (b"recipe: !!python/object/apply:os.system ['true']", r"x\.yaml: not valid YAML: line 1: tags such as"),
        (b"recipe: \xff", "cannot read the configuration"),
        (b"recipe: " + b"x" * 1_000_000, "cannot read the configuration: 1,000,008 bytes, and at most 1,000,000"),
        (b"training: {seed: 0x" + b"f" * 1900 + b"}", r"training\.seed: .* less than or equal to 9223372036854775808"),
    ],
)
def test_a_file_that_is_no_configuration_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        load_config(path)


def test_a_configuration_that_could_not_be_read_again_is_refused() -> None:
    many = [Corpus(files=(f"part-{number:05}.tsv",)) for number in range(8000)]
    with pytest.raises(UserError, match="name fewer files"):
        dump_config(RunConfig(data=DataConfig(train=tuple(many))))


def test_a_file_full_of_faults_is_answered_shortly() -> None:
    said = refused({f"key{number}\x1b[2J" + "x" * 1900: number for number in range(5000)})
    assert "; and 4980 more" in said
    assert len(said) < 20 * 600
    assert "\x1b" not in said


@pytest.mark.parametrize("name", ["gpu", "cuda:", "cuda:-1", "cuda:x", "cpu:0", "mps:1", "CUDA", ""])
def test_a_device_may_have_a_number_and_no_other_name(name: str) -> None:
    """Whether it is there is asked when the run begins: a configuration may be for another machine."""
    for known in ("auto", "cpu", "cuda:15", "mps"):
        assert override(RunConfig(), [f"training.device={known}"]).training.device == known
    with pytest.raises(UserError, match=r"training.device: a device is auto, cpu, cuda, cuda:N .* or mps, not "):
        override(RunConfig(), [f"training.device='{name}'"])


def test_a_retired_setting_of_a_stored_run_is_left_out_and_elsewhere_refused(tmp_path: Path) -> None:
    stored = tmp_path / "config.yaml"
    stored.write_text("format: 2\ntraining:\n  processes: 2\n  seed: 7\n", encoding="utf-8")
    assert load_config(stored).training.seed == 7
    stored.write_text("training:\n  processes: 2\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"unknown setting training.processes"):
        load_config(stored)
