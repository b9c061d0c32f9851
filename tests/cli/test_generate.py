"""`limelight generate`: a prompt in, the same and more out."""

import json
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

from limelight import Generated, load
from limelight.decoding.engine import Engine
from limelight.decoding.sampling import Sampling
from tests.cli.conftest import Limelight

Typed = Callable[[bytes], None]
FEW = ["--max-tokens", "20"]


def test_a_prompt_is_shown_and_gone_on_from(limelight: Limelight, writing: Path) -> None:
    ended = limelight("generate", "--model", writing, "The old", "--seed", 3, *FEW)
    assert (ended.code, ended.err) == (0, "")
    (found,) = load(writing).generate("The old", max_tokens=20, sampling=Sampling(temperature=0.8, seed=3))
    assert ended.out == f"The old{found.text}\n"
    assert limelight("generate", "--model", writing / "best", "The old", "--seed", 3, *FEW) == ended
    assert limelight("generate", "--model", writing, "The old", "--seed", 3, "--temperature", 0.8, *FEW) == ended
    longer = limelight("generate", "--model", writing, "The old", "--seed", 3).out
    assert len(longer) > 100  # far more than the model sees at once
    assert longer.startswith(ended.out[:-1])


@pytest.mark.parametrize("words", [["-"], []])
@pytest.mark.parametrize(
    ("given", "prompt"),
    [(b"The old\n", "The old"), (b"The old", "The old"), (b"one\ntwo\r\n\n", "one\ntwo\n"), (b"", ""), (b"\n", "")],
)
def test_a_prompt_may_come_through_standard_input(
    limelight: Limelight, writing: Path, typed: Typed, words: list[str], given: bytes, prompt: str
) -> None:
    typed(given)
    ended = limelight("generate", "--model", writing, "--greedy", *FEW, *words)
    assert ended == limelight("generate", "--model", writing, "--greedy", *FEW, prompt)
    assert ended.out.startswith(prompt)


def test_samples_stand_apart(limelight: Limelight, writing: Path) -> None:
    ended = limelight("generate", "--model", writing, "A dog", "--samples", 3, "--seed", 5, *FEW)
    sampling = Sampling(temperature=0.8, seed=5)
    found = load(writing).generate("A dog", samples=3, max_tokens=20, sampling=sampling)
    assert ended.out == "".join(f"--- {number} of 3 ---\nA dog{each.text}\n" for number, each in enumerate(found, 1))
    lines = limelight("generate", "--model", writing, "A dog", "--samples", 3, "--seed", 5, "--json", *FEW).out
    shown = [json.loads(line) for line in lines.splitlines()]
    assert [each["text"] for each in shown] == [each.text for each in found]
    assert all(set(each) == {field.name for field in fields(Generated)} for each in shown)
    assert [each["prompt"] for each in shown] == ["A dog"] * 3


def test_what_is_written_is_seen_at_once(limelight: Limelight, writing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part is written and flushed before the next token is asked for."""
    seen = []
    step = Engine.step

    def watching(self: Engine) -> object:
        seen.append(flushed())
        return step(self)

    def flushed() -> str:
        return sys.stdout.getvalue()  # type: ignore[attr-defined]  # what capsys put there

    monkeypatch.setattr(Engine, "step", watching)
    ended = limelight("generate", "--model", writing, "The", "--greedy", *FEW)
    assert seen[:2] == ["", ended.out[: len(seen[1])]]
    assert len(seen[1]) == 4
    assert len(set(seen)) == len(seen)
