"""The examples that are Python: they run, say the truth, and refuse what they cannot do in words."""

import re
import sys
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import torch

from examples import journey
from limelight.config import DecodingConfig, ModelConfig, RecurrentConfig, RunConfig, TransformerConfig
from limelight.models.families import build_model
from limelight.pipelines.translator import Translator
from limelight.storage.model import save_model
from limelight.tokens import Tokenizers, train_tokenizer
from tests import forked

ROOT = Path(__file__).parents[2]
TRANSFORMER = TransformerConfig(encoder_layers=3, decoder_layers=1, d_model=14, heads=2, d_ff=11)
RECURRENT = RecurrentConfig(embedding=7, hidden=5)


def run(name: str, *arguments: object) -> CompletedProcess[str]:
    return forked.run([sys.executable, str(ROOT / "examples" / f"{name}.py"), *map(str, arguments)])


def stored(folder: Path, config: ModelConfig) -> Path:
    """A model folder with random weights."""
    texts = ["A dog runs on the grass.", "Ein Hund rennt im Gras."]
    both = train_tokenizer(
        texts, kind="bpe", vocabulary_size=None, languages=["de"], byte_fallback=True, seed=1, sentences=2
    )
    tokenizers = Tokenizers(both, both)
    whole = RunConfig(model=config, decoding=DecodingConfig(max_length_factor=1, max_length_extra=3))
    save_model(folder, build_model(config, tokenizers), tokenizers, whole, notes={}, card="")
    return folder


def without_figures(text: str) -> str:
    """Every number with a point is masked: another machine rounds another way."""
    return re.sub(r" *-?\d+\.\d+", " #", text)


@pytest.fixture(scope="module")
def learned() -> Translator:
    """The journey's own model; what it draws must not move the randomness of other tests."""
    with torch.random.fork_rng():
        return journey.learn_by_heart()


def test_the_page_shows_what_the_journey_prints(learned, capsys):
    journey.travel(learned, "Two dogs run.")
    printed = capsys.readouterr().out
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    shown = page.partition("## The journey of a sentence")[2].partition("```text\n")[2].partition("```")[0]
    first, last = map(without_figures, shown.split("\n...\n\n"))
    assert without_figures(printed).startswith(first)
    assert without_figures(printed).endswith(last)
    assert without_figures("a  -1.25 0.5") == without_figures("a 11.75  -0.125") != without_figures("a 11.75 b")


def test_each_step_shows_what_each_layer_attends_to(learned, capsys):
    """As in the attention map of the whole sentence: a row for each step."""
    journey.travel(learned, "Two dogs run.")
    printed = re.findall(
        r"^decoder (\d) attends +\(1, 4, 1, 5\) +(\d\.\d\d) at (\S+)$", capsys.readouterr().out, re.MULTILINE
    )
    seen = learned.attention("Two dogs run.", beam_size=1)
    expected = [
        (str(layer), f"{row.max():.2f}", seen.source_pieces[row.argmax()])
        for step in range(len(seen.target_pieces))
        for layer, row in enumerate(seen.cross[:, :, step].mean(axis=1))
    ]
    assert printed == expected


def test_all_four_sentences_arrive(learned, capsys):
    for source, target in zip(journey.SOURCES, journey.TARGETS, strict=True):
        journey.travel(learned, source)
        assert capsys.readouterr().out.endswith(f"\ntext    {target}\n")


def test_the_journey_through_a_model_of_ones_own(tmp_path, seed):
    done = run("journey", stored(tmp_path / "model", TRANSFORMER), "A dog runs.")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("text    A dog runs.\n")
    assert re.search(r"^encoder 2 leaves +\(1, \d+, 14\) ", done.stdout, flags=re.MULTILINE)
    assert "encoder 3" not in done.stdout


@pytest.mark.parametrize("config", [RECURRENT, TRANSFORMER.model_copy(update={"positions": "rotary", "d_model": 12})])
def test_the_journey_refuses_other_models(tmp_path, seed, config):
    done = run("journey", stored(tmp_path / "model", config))
    assert done.returncode == 1
    assert done.stderr == "journey: the model has to be a Transformer with positions that are added to the embeddings\n"


def test_a_file_is_translated_line_by_line(tmp_path, seed):
    (tmp_path / "input.txt").write_text("A dog runs.\n\nThe grass\n", encoding="utf-8")
    done = run(
        "translate_a_file", stored(tmp_path / "model", TRANSFORMER), tmp_path / "input.txt", tmp_path / "out.tsv"
    )
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "out.tsv").read_bytes().decode().split("\n")  # an untrained model spells any other separator
    assert lines.pop() == ""
    assert len(lines) == 3
    assert lines[1] == "1.00\t"
    assert all(0 <= float(line.partition("\t")[0]) <= 1 for line in lines)
    assert done.stderr.count("cut off at the length limit") <= 2


def test_a_mistake_is_told_in_a_line(tmp_path):
    (tmp_path / "input.txt").write_text("A dog runs.\n", encoding="utf-8")
    done = run("translate_a_file", tmp_path / "no-model", tmp_path / "input.txt", tmp_path / "out.tsv")
    assert done.returncode == 1
    assert done.stderr.startswith("translate_a_file: ")
    assert "there is no such model" in done.stderr
    assert "python examples/translate_a_file.py" in run("translate_a_file").stderr
