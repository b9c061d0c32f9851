"""`--lines`, `--no-guards`, warnings, detected languages and confidence, on the command line."""

import json
from pathlib import Path

import pytest

from limelight.cli.app import run
from limelight.evaluation import confidence
from limelight.pipelines import guards
from limelight.storage.tables import save_detector
from limelight.text.detection import learn_detector
from tests.cli.conftest import Limelight, settings
from tests.cli.test_translate import Typed


def test_a_line_is_split_into_sentences_and_stays_a_line(limelight: Limelight, trained: Path, typed: Typed) -> None:
    """What a sentence becomes is what it becomes alone; with `--lines` it is another text."""
    first, second = "The cat sleeps.", "A dog sees the bird!"
    typed(f"{first}  {second}\n\n{first}\n".encode())
    out = limelight("translate", "--model", trained, "--no-guards").out.split("\n")
    alone = [
        limelight("translate", "--model", trained, "--no-guards", "--text", text).out.strip("\n")
        for text in (first, second)
    ]
    assert out == [f"{alone[0]}  {alone[1]}", "", alone[0], ""]
    typed(f"{first}  {second}\n".encode())
    assert limelight("translate", "--model", trained, "--no-guards", "--lines").out != f"{out[0]}\n"


def test_warnings_are_counted_on_standard_error_and_named_in_json(
    limelight: Limelight, trained: Path, typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def strange(source: str, output: str, *_: object) -> tuple[str, ...]:
        return ("number lost", "copied") if "dog" in source else ("number lost",) if "cat" in source else ()

    monkeypatch.setattr(guards, "faults", strange)
    text = b"The cat sleeps.\nA dog sees a bird. A dog sleeps.\nA bird.\n"
    typed(text)
    ended = limelight("translate", "--model", trained)
    expected = "limelight: warnings, of 3 lines: number lost in 2, copied in 1; --json names those of each line\n"
    assert (ended.code, ended.err) == (0, expected)
    typed(b"A dog sleeps.\n")
    alone = limelight("translate", "--model", trained).err
    assert alone == "limelight: warnings, of 1 line: number lost in 1, copied in 1; --json names those of each line\n"
    typed(text)
    found = [json.loads(line) for line in limelight("translate", "--model", trained, "--json").out.splitlines()]
    assert [each["warnings"] for each in found] == [["number lost"], ["number lost", "copied"], []]
    typed(text)
    ended = limelight("translate", "--model", trained, "--json", "--no-guards")
    assert ended.err == ""
    assert all(json.loads(line)["warnings"] == [] for line in ended.out.splitlines())


@pytest.fixture(scope="module")
def two_ways(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of both directions, with 120 validation pairs, and a detector."""
    folder = tmp_path_factory.mktemp("runs") / "both"
    lines = (corpus / "train.tsv").read_text(encoding="utf-8").splitlines()
    valid = folder.parent / "valid.tsv"
    valid.write_text("\n".join(lines[:120]) + "\n", encoding="utf-8")
    command = ["train", "--train", f"en-xx={corpus / 'train.tsv'}", "--valid", f"en-xx={valid}", "--recipe", "tiny"]
    more = ["--set", "data.both_directions=true", "--max-steps", "4", "--out", str(folder), "--quiet"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(confidence, "MIN_OF_KIND", 0)
        assert run([*command, *settings(), *more]) == 0
    sides = [line.split("\t") for line in lines]
    detector = learn_detector({"en": [one for one, _ in sides], "xx": [other for _, other in sides]})
    save_detector(folder / "best" / "languages.safetensors", detector)
    return folder


def test_the_source_language_is_detected_line_by_line(
    limelight: Limelight, two_ways: Path, corpus: Path, typed: Typed
) -> None:
    source, target = (corpus / "train.tsv").read_text(encoding="utf-8").splitlines()[0].split("\t")
    typed(f"{source}\n{target}\n".encode())
    ended = limelight("translate", "--model", two_ways, "--json", "--no-guards", "--lines")
    found = [json.loads(line) for line in ended.out.splitlines()]
    assert [(each["source_lang"], each["target_lang"]) for each in found] == [("en", "xx"), ("xx", "en")]
    assert all(each["source_lang_confidence"] > 0.5 for each in found)
    assert all(0 <= each["confidence"] <= 1 for each in found)
    asked = limelight("translate", "--model", two_ways, "--json", "--no-guards", "--from", "en", "--text", target)
    assert json.loads(asked.out)["source_lang"] == "en"
    assert json.loads(asked.out)["source_lang_confidence"] is None
