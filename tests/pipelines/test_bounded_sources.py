"""No text, however it is written, gives an engine a sentence of unbounded length."""

from typing import Any

import pytest

from limelight.config import DecodingConfig
from limelight.decoding.engine import Engine
from limelight.decoding.request import Request
from limelight.errors import UserError
from limelight.pipelines.translator import Translator
from limelight.text.sentences import MAX_TOKENS
from tests.serving.helpers import carrying


@pytest.fixture(scope="module")
def one() -> Translator:
    both = carrying()
    return Translator(
        both.model, both.tokenizers, DecodingConfig(beam_size=1, max_length_factor=0.001, max_length_extra=3)
    )


@pytest.fixture
def lengths(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Tokens of each source that an engine is given, without its end."""
    seen, submit = list[int](), Engine.submit

    def counted(self: Engine, request: Request, **more: Any) -> int:
        seen.append(len(request.source) - 1)
        return submit(self, request, **more)

    monkeypatch.setattr(Engine, "submit", counted)
    return seen


LONG = {"letters": "a" * 9000, "spaced": "a " * 4500, "emoji": "\U0001f600" * 1200, "words": "the dog " * 1500}


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_sources_are_bounded(one: Translator, lengths: list[int], text: str, lines: bool) -> None:
    found = one.translate(text, lines=lines, guards=False)
    assert found.source == text
    assert max(lengths) <= MAX_TOKENS
    assert sum(lengths) >= len(one.tokenizers.source.encode(text)) - len(lengths)
    assert len(lengths) <= 3 * sum(lengths) / MAX_TOKENS + 1  # the parts are not small ones


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_sources_of_texts_with_spans_are_bounded(one: Translator, lengths: list[int], text: str) -> None:
    found = one.translate(f"a {text} {{x}} <b>{text} a</b>", protect=True, guards=False)
    assert max(lengths) <= MAX_TOKENS
    assert found.text.count("{x}") == found.text.count("<b>") == 1


def test_a_text_that_stays_whole_is_refused(one: Translator) -> None:
    with pytest.raises(UserError, match="text 2 has more than 512 tokens, and with a prefix"):
        one.translate(["a", "a " * 600], prefix=["a", "a"])
