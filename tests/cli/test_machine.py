"""`--device` and `--threads`: the same on every command that computes, and settled before anything is loaded."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from tests.cli.conftest import Limelight

COMMANDS = {
    "translate": "translate --model {trained} --no-guards {corpus}/in.txt",
    "evaluate": "evaluate --model {trained} --test {corpus}/test.tsv",
    "attention": "attention --model {trained} word",
    "generate": "generate --model {writing} word",
    "evaluate text": "evaluate --model {writing} --test {corpus}/in.txt",
    "attention of a text": "attention --model {writing} word",
    "fill": "fill --model {trained} word",
    "classify": "classify --model {trained} {corpus}/in.txt",
}


@pytest.fixture
def words(trained: Path, writing: Path, corpus: Path) -> Callable[[str], list[str]]:
    (corpus / "in.txt").write_text("A dog runs.\n", encoding="utf-8")
    return lambda name: COMMANDS[name].format(trained=trained, writing=writing, corpus=corpus).split()


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of threads that were asked for; the process of the tests keeps its own."""
    asked: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", asked.append)
    return asked


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_takes_a_device_and_threads(
    name: str, limelight: Limelight, words: Callable[[str], list[str]], counts: list[int]
) -> None:
    ended = limelight(*words(name), "--device", "cpu", "--threads", 3)
    if name not in ("fill", "classify"):
        assert (ended.code, ended.err) == (0, "")
    else:
        assert "this is a model of the family transformer" in ended.err
    assert counts[0] == 3


@pytest.mark.parametrize("name", COMMANDS)
def test_a_device_that_is_not_there_is_told_before_the_weights_are_read(
    name: str, limelight: Limelight, words: Callable[[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("limelight.storage.model.load_model", lambda *_: pytest.fail("began to work"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    ended = limelight(*words(name), "--device", "cuda:1")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert ended.err.startswith("limelight: --device cuda:1: this machine, or this build of torch, has only cpu")
    assert ended.err.endswith("use one of them, or --device auto\n")
