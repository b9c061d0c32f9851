"""What is asked for, whatever the dialect, and its bounds: a refusal names the fields that the client has sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from limelight.serving.limits import Limits
from limelight.serving.pool import WIDTH
from limelight.serving.refusal import Refusal, bad_request, beyond

Split = Literal["sentences", "across lines", "never"]
"""Where a text is divided: after sentences and lines, only after sentences, or not at all."""


class TagHandling(NamedTuple):
    """How the tags of a text are read: `formats.html.Tags`."""

    kind: str
    """`xml`, `html` or `markdown`, which has no settings."""
    ignored: tuple[str, ...] = ()
    splitting: tuple[str, ...] = ()
    inline: tuple[str, ...] = ()
    outline: bool = True


@dataclass(frozen=True, slots=True)
class Ask:
    """Texts to translate, and how."""

    texts: Sequence[str]
    target: str = ""
    source: str = ""
    """Detected if empty."""
    model: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Search options, as `Translator.prepare` takes them."""
    split: Split = "sentences"
    tags: TagHandling | None = None
    terms: Sequence[tuple[str, str]] = ()
    glossaries: Sequence[tuple[str, int]] = ()
    """Files of glossaries, see `Glossaries.files`."""

    def engine_options(self) -> dict[str, Any]:
        """The options of the task."""
        found = {key: value for key, value in self.options.items() if value is not None}
        own = {"split": self.split, "tags": self.tags, "terms": self.terms, "glossaries": self.glossaries}
        return found | {key: value for key, value in own.items() if value}


def require_within(name: str, value: int, least: int, most: int, option: str) -> None:
    """Raises `Refusal` for a number out of its bounds; `name` is the client's field, `option` that of the service."""
    if not least <= value <= most:
        raise bad_request(f"{name} must be from {least} to {most}, not {value}; {option} of the service is its limit")


def require_bounds(ask: Ask, limits: Limits) -> int:
    """The characters of a request. Raises `Refusal` for what is beyond a limit."""
    if len(ask.texts) > limits.texts:
        what = f"there are {len(ask.texts)} texts"
        raise Refusal(413, "too_many_texts", beyond(what, limits.texts, "--max-texts", "divide them"))
    prefix = ask.options.get("prefix") or ""
    if prefix and len(ask.texts) > 1:
        raise bad_request("prefix: it is for a single text, and there are several; send them one by one")
    for name, most, option in (("beam_size", limits.beam, "--max-beam"), ("n_best", limits.n_best, "--max-n-best")):
        if (asked := ask.options.get(name)) is not None:
            require_within(name, asked, 1, most, option)
    characters = sum(map(len, ask.texts)) + len(prefix)
    width = max(WIDTH, ask.options.get("beam_size") or 1, ask.options.get("n_best") or 1)
    if (counted := characters * width // WIDTH) > limits.characters:
        what, remedy = f"the texts have {characters} characters", "send less at a time"
        if counted > characters:
            what += f", which with {width} hypotheses each count as {counted}"
            remedy += ", or ask for fewer hypotheses"
        raise Refusal(413, "too_long", beyond(what, limits.characters, "--max-characters", remedy))
    return characters
