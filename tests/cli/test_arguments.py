"""Files, languages and numbers on the command line."""

import inspect
from typing import Annotated, Any

import pytest
import typer

from limelight.cli.arguments import Group, corpora, decimal, repeat_options, whole_number, with_groups
from limelight.errors import UserError

SEVERAL = ("--train", "--valid", "--test")


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("train --train a b --out r", "train --train=a --train=b --out r"),
        ("train --train=a b --out r", "train --train=a --train=b --out r"),
        ("train --out r --train a", "train --out r --train=a"),
        ("train --train a --valid b c --train d", "train --train=a --valid=b --valid=c --train=d"),
        ("evaluate --test a --json", "evaluate --test=a --json"),
        ("evaluate --json --test a b", "evaluate --json --test=a --test=b"),
        ("train --train -", "train --train=-"),
        ("train --train=-a.tsv b", "train --train=-a.tsv --train=b"),
        ("attention --target -- --test", "attention --target -- --test"),
        ("train --train a -- --train b", "train --train=a -- --train b"),
        ("translate --length-penalty -1 in", "translate --length-penalty -1 in"),
        ("train --set a.b=-1 --train=x=y", "train --set a.b=-1 --train=x=y"),
        ("translate --tested a", "translate --tested a"),
        ("", ""),
    ],
)
def test_options_that_take_several_words_are_repeated(given: str, read: str) -> None:
    assert repeat_options(given.split(), SEVERAL) == read.split()


@pytest.mark.parametrize(
    "given", ["--train", "--train --out r", "--out r --train=", "--valid -- a", "--train --valid a"]
)
def test_an_option_without_its_files_is_refused(given: str) -> None:
    option = "--valid" if "--valid --" in given else "--train"
    with pytest.raises(
        UserError,
        match=rf"{option}: name a file after it: one that holds both sides \(\.tsv, .*\), two files line by line",
    ):
        repeat_options(given.split(), SEVERAL)


def named(*files: str, source: str = "", target: str = "") -> list[tuple[tuple[str, ...], str, str]]:
    return [(each.files, each.source, each.target) for each in corpora(list(files), source, target, "--train")]


@pytest.mark.parametrize(
    ("files", "source", "target"),
    [("train.en train.de", "de", "en"), ("train.en.gz train.de.gz", "de", ""), ("train.en train.de", "", "EN")],
)
def test_two_files_in_the_other_order_than_the_languages_are_refused(files: str, source: str, target: str) -> None:
    first, second = files.split()
    with pytest.raises(UserError, match=rf"the first is in en, the second in de; .* Give --train {second} {first}, or"):
        named(first, second, source=source, target=target)


def test_names_that_say_nothing_of_languages_contradict_nothing() -> None:
    assert named("train.src", "train.tgt") == [(("train.src", "train.tgt"), "source", "target")]
    assert named("train.en", "train.de", source="en", target="de") == [(("train.en", "train.de"), "en", "de")]
    assert named("train.tok", "train.en", source="en", target="de") == [(("train.tok", "train.en"), "en", "de")]
    assert named("a.en", "b.en", source="en", target="en") == [(("a.en", "b.en"), "en", "en")]
    assert named("a.xx", "b.yy", source="en", target="de") == [(("a.xx", "b.yy"), "en", "de")]


def test_files_become_corpora() -> None:
    assert named("a.tsv") == [(("a.tsv",), "source", "target")]
    assert named("a.jsonl.gz", source="en", target="de") == [(("a.jsonl.gz",), "en", "de")]
    assert named("a.TSV", "b.txt", "c.txt") == [
        (("a.TSV",), "source", "target"),
        (("b.txt", "c.txt"), "source", "target"),
    ]


def test_languages_are_guessed_from_names_unless_they_are_given() -> None:
    assert named("train.en", "train.de.zst") == [(("train.en", "train.de.zst"), "en", "de")]
    assert named("train.en", "train.de", target="nds") == [(("train.en", "train.de"), "en", "nds")]
    assert named("train.1", "train.english") == [(("train.1", "train.english"), "source", "target")]
    assert corpora([], "", "", "--train") == ()


@pytest.mark.parametrize("files", [["a.en"], ["a.en", "b.tsv"], ["a.tsv", "b.txt"], ["a.en", "a.de", "b.en"]])
def test_half_a_pair_of_files_is_refused(files: list[str]) -> None:
    with pytest.raises(UserError, match=r"--valid [ab]\.\w+: a file with one language needs a file with the other"):
        corpora(files, "", "", "--valid")


@pytest.mark.parametrize(
    ("read", "word", "number"),
    [
        (whole_number(1), "1", 1),
        (whole_number(0), "0", 0),
        (whole_number(1), "4096", 4096),
        (decimal(above=0.0), "0.5", 0.5),
        (decimal(at_least=0.0), "0", 0.0),
        (decimal(above=0.0, at_most=1.0), "1", 1.0),
        (decimal(), "-1e3", -1000.0),
    ],
)
def test_numbers_are_read(read, word: str, number: float) -> None:
    assert read(word) == number


@pytest.mark.parametrize(
    ("read", "word", "message"),
    [
        (whole_number(1), "0", "0 is not a whole number from 1 up"),
        (whole_number(0), "-1", "-1 is not a whole number from 0 up"),
        (whole_number(1), "2.5", r"2\.5 is not a whole number from 1 up"),
        (whole_number(1), "four", "four is not a whole number"),
        (whole_number(0), str(2**63), "is not a whole number"),
        (decimal(above=0.0), "0", "0 is not a number above 0$"),
        (decimal(above=0.0, at_most=1.0), "1.1", r"1\.1 is not a number above 0 and at most 1$"),
        (decimal(at_least=0.0), "-0.1", r"-0\.1 is not a number from 0 up$"),
        (decimal(), "much", "much is not a number$"),
        (decimal(), "nan", "nan is not a number$"),
        (decimal(above=0.0), "inf", "inf is not a number above 0"),
    ],
)
def test_numbers_out_of_bounds_are_refused_with_value_and_bound(read, word: str, message: str) -> None:
    with pytest.raises(typer.BadParameter, match=message):
        read(word)


def test_the_options_of_a_group_are_parameters_in_its_place() -> None:
    def command(*, first: int, shared: Annotated[dict[str, Any], Group({"a": int, "b": int}, {"b": 7})]) -> None:
        got.append((first, shared))

    got: list[object] = []
    grouped = with_groups(command)
    assert {name: each.default for name, each in inspect.signature(grouped).parameters.items()} == {
        "first": inspect.Parameter.empty, "a": None, "b": 7
    }  # fmt: skip
    grouped(first=1, a=2, b=3)
    assert got == [(1, {"a": 2, "b": 3})]
