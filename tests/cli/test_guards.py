"""`--lines`, `--no-guards`, warnings, detected languages and confidence, on the command line."""

import json
import shutil
from pathlib import Path

import pytest

from limelight.pipelines import guards
from limelight.storage.layout import DETECTOR
from limelight.storage.tables import save_detector
from limelight.text.detection import learn_detector
from tests.cli.conftest import Limelight
from tests.cli.test_translate import Typed
from tests.interop.helpers import ENGLISH, GERMAN


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


def test_the_source_language_is_detected_line_by_line(
    limelight: Limelight, many: Path, tmp_path: Path, typed: Typed
) -> None:
    model = shutil.copytree(many / "best", tmp_path / "model")
    save_detector(model / DETECTOR, learn_detector({"en": ENGLISH, "de": GERMAN}))
    typed(f"{ENGLISH[0]}\n{GERMAN[0]}\n".encode())
    asked = ["translate", "--model", model, "--json", "--no-guards", "--lines"]
    found = [json.loads(line) for line in limelight(*asked).out.splitlines()]
    assert [(each["source_lang"], each["target_lang"]) for each in found] == [("en", "de"), ("de", "en")]
    assert all(each["source_lang_confidence"] > 0.5 for each in found)
    named = json.loads(limelight(*asked, "--from", "en", "--text", GERMAN[0]).out)
    assert (named["source_lang"], named["source_lang_confidence"]) == ("en", None)
