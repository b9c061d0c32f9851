"""Benchmarks start and show their options; and what they judge translations by passes good ones and names bad ones."""

import json
import runpy
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import ablations, common, memory, training
from benchmarks.robustness import (
    CHECKS,
    DIRECTIONS,
    VALUES,
    Input,
    differs,
    faults,
    read_inputs,
)

FOLDER = Path(common.__file__).parent
MODULES = sorted(path.stem for path in FOLDER.glob("*.py") if "\nif __name__" in path.read_text(encoding="utf-8"))
COMMANDS = {
    "attention": ["pictures"], "latency": ["startup", "loading"],
    "training": ["recipe"],
}  # fmt: skip


@pytest.mark.parametrize("words", [[name, *more] for name in MODULES for more in ([], *zip(COMMANDS.get(name, [])))])
def test_a_benchmark_shows_its_options(words: list[str], monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr(sys, "argv", [*words, "--help"])
    monkeypatch.delitem(sys.modules, f"benchmarks.{words[0]}", raising=False)
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(f"benchmarks.{words[0]}", run_name="__main__")
    assert ended.value.code == 0
    assert "--help" in capsys.readouterr().out


def test_a_result_has_its_command_machine_and_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = common.table(["way", "figure"], [("fast", 1234.5), ("slow", 0.01234), ("missing", None)])
    common.report("speed", "speed --fast", shown, folder=tmp_path, ways={"fast": 1234.5})
    stored = json.loads((tmp_path / "speed.json").read_text(encoding="utf-8"))
    assert (stored["command"], stored["ways"]) == ("python -m benchmarks.speed --fast", {"fast": 1234.5})
    assert stored["machine"]["processor"]
    assert "| fast | 1,234 |\n| slow | 0.0123 |\n| missing | - |" in stored["table"] == capsys.readouterr().out.rstrip()


def test_ways_take_turns_and_medians_are_those_of_each() -> None:
    order: list[str] = []

    def measure(way: str) -> dict[str, float]:
        order.append(way)
        return {"speed": float(len(order))}

    assert common.medians(common.in_turn(["a", "b"], measure, 3)) == {"a": {"speed": 3}, "b": {"speed": 4}}
    assert "".join(order) == "ababab"


def test_models_of_the_benchmarks_work_on_short_text() -> None:
    for work in memory.WORK.values():
        work()(24)
    size = training.Size(layers=1, d_model=8, heads=2, d_ff=12, vocabulary=60, updates=1)
    batch = training.make_batch([[3, 4, 5]], [[6, 7]], source_padding=59, target_padding=59)
    assert training.limelight_step(size)(batch) > 0


def test_each_row_of_the_ablations_is_a_configuration() -> None:
    names = [ablations.config_of(row, Path(), 100).recipe for row in ablations.ROWS]
    assert len(set(names)) == len(ablations.ROWS) > 25


# --- what translations are judged by ---


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_inputs_ask_for_what_a_copy_has(source: str, target: str) -> None:
    inputs = read_inputs(source, target)
    counts = Counter(given.category for given in inputs)
    assert counts.keys() == CHECKS.keys()
    assert min(counts.values()) >= 20
    for given in inputs:
        if given.category in {"names", "numbers", "dates", "emoji", "links", "script", "paragraph", *VALUES}:
            assert faults(replace(given, languages=(source, source)), given.text) == [], given


@pytest.mark.parametrize(
    ("given", "good", "bad", "fault"),
    [
        (Input("names", "Ask Priya.", ("Priya",), ()), "Frag Priya.", "Frag Prija.", "name lost"),
        (Input("numbers", "It has 83,000.", ("83,000",), ()), "Es hat 83.000.", "Es hat 8.300.", "number lost"),
        (Input("dates", "On May 3, 1987.", ("3", "1987"), ()), "Am 3. Mai 1987.", "Am 13. Mai 1987.", "number lost"),
        (Input("decimals", "It is 0.5.", ("0.5",), ()), "Es ist 0,5.", "Es sind 0,5 von 7.", "value changed"),
        (Input("caps", "THE DOG.", (), ("hund",)), "DER HUND.", "Der Hund.", "capitals lost"),
        (Input("title", "The Train.", (), ("train",)), "Le train.", "The train.", "copied"),
        (Input("word", "Dog", (), ("hund",)), "Hund", "Katze", "meaning lost"),
        (Input("emoji", "So good 😋", ("😋",), ()), "So gut 😋", "So gut", "emoji lost"),
        (Input("paragraph", "One. Two. Three. Four.", (), ()), "Eins. Zwei. Drei. Vier.", "Eins.", "sentence lost"),
        (Input("bare", "I am here", (), ("hier",)), "Ich bin hier", "Ich bin hier.", "punctuation added"),
        (Input("quotes", 'He said "no".', (), ("nein",)), "Er sagte „nein“.", "Er sagte nein.", "quotation marks lost"),
        (Input("lists", "- milk\n- salt", (), ("salz",)), "- Milch\n- Salz", "Milch\nSalz", "list marks lost"),
        (Input("target", "Das ist gut so.", (), ()), "Das ist gut so.", "Voilà le chat.", "changed"),
        (Input("names", "No, no, no, no, Bo!", ("Bo",), ()), "Nein, nein, nein, nein, Bo!", "Bo " * 7, "loop"),
    ],
)  # fmt: skip
def test_each_property_is_met_and_broken(given: Input, good: str, bad: str, fault: str) -> None:
    assert faults(given, good) == []
    assert fault in faults(given, bad)


@pytest.mark.parametrize(
    ("value", "target", "right", "wrong"),
    [
        ("0.5", "de", ["0,5", "0.5", "0,50"], ["05", "5", "0,05", "10,5", "0,51"]),
        ("1299", "de", ["1299", "1.299", "1 299", "1'299"], ["1,299", "12.99", "11.299"]),
        ("3.50 $", "en", ["$3.50", "3.5 dollars", "USD 3.50"], ["$350", "3.50", "£3.50"]),
        ("-4.5 °C", "de", ["-4,5 °C", "−4,5 Grad", "minus 4,5 °C"], ["4,5 °C"]),
        ("=1.2.3", "de", ["1.2.3"], ["1.23", "1.2.3.4", "11.2.3"]),
        ("17:30", "de", ["17:30", "17.30 Uhr", "17 Uhr 30", "halb sechs", "5:30 nachmittags"], ["5:30", "1730"]),
        ("23:30", "fr", ["23 h 30", "23 heures trente"], ["23 heures", "22 heures trente"]),
        ("2027-12-05", "de", ["05.12.2027", "5. Dezember 2027", "2027-12-05"], ["0512.2027", "5. Mai 2027", "5.12."]),
        ("2", "de", ["2", "zwei"], ["22", "2,5", "drei", "zwei von 7"]),
    ],
)
def test_forms_of_values(value: str, target: str, right: list[str], wrong: list[str]) -> None:
    assert [each for each in right if differs((value,), f"Es ist {each} hier.", target)] == []
    assert [each for each in wrong if not differs((value,), f"Es ist {each} hier.", target)] == []
