"""Patching between two sentences: which vectors keep the difference between their translations."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from limelight.errors import UserError
from limelight.inspection.heatmap import Panel
from limelight.inspection.patching import Effects, Sides, patch
from limelight.inspection.views import View
from limelight.inspection.words import END_PIECE, START_PIECE, readable
from limelight.pipelines.translator import Translator

PAIRS = {
    "number": ("I saw the child.", "I saw the children."),
    "gender": ("I know that he is tired.", "I know that she is tired."),
    "tense": ("She plays the piano.", "She played the piano."),
}
"""Pairs for models from English: singular and plural, he and she, present and past."""
MAX_TOKENS = 100
"""Maximum tokens of a side: each position is a sentence of a batch."""
FORMAT, VERSION = "limelight.patching", 1


@dataclass(frozen=True, slots=True)
class Patched:
    """The effects of patching, with the texts and tokens that they belong to."""

    texts: tuple[str, str]
    translations: tuple[str, str]
    source: tuple[str, ...]
    """The source tokens with their end; `first/second` where the two differ."""
    read: tuple[str, ...]
    """The start and the common tokens of the target."""
    tokens: tuple[str, str]
    """The first token in which the translations differ."""
    effects: Effects

    def view(self) -> View:
        """The effects for a file: a panel for the encoder and one for the decoder."""
        title = "\n".join(f"{text} → {said}" for text, said in zip(self.texts, self.translations, strict=True))
        title += f"\nwhat returns of {self.tokens[0]} instead of {self.tokens[1]}: encoder, decoder"
        return View("patching", title, self.panels())

    def values(self) -> dict[str, Any]:
        """All values, as `to_json` writes them."""
        values: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "texts": list(self.texts),
            "translations": list(self.translations),
            "tokens": list(self.tokens),
            "difference": [self.effects.first, self.effects.second],
        }
        return values | {
            panel.name: {"positions": list(panel.columns), "effects": panel.values.tolist()} for panel in self.panels()
        }

    def to_json(self) -> str:
        """All values as JSON."""
        return json.dumps(self.values(), ensure_ascii=False, indent=1) + "\n"

    def panels(self) -> list[Panel]:
        """The effects of the encoder and of the decoder."""
        sides = (("encoder", self.effects.encoder, self.source), ("decoder", self.effects.decoder, self.read))
        return [Panel(name, effects, layer_names(len(effects)), columns) for name, effects, columns in sides]

    def table(self) -> str:
        """The effects as text."""
        lines = [f"{text} → {said}" for text, said in zip(self.texts, self.translations, strict=True)]
        first, second, (one, other) = *self.effects[2:], self.tokens
        lines.append(
            f"log p({one}) - log p({other}): {first:+.2f} with the first source, {second:+.2f} with the second"
        )
        for name, effects, names, columns in self.panels():
            widths = [max(5, len(column)) for column in columns]
            titles = " ".join(column.rjust(width) for column, width in zip(columns, widths, strict=True))
            lines += ["", f"{name:<10} {titles}"]
            for layer, row in zip(names, effects, strict=True):
                values = " ".join(
                    f"{round(value, 2) + 0:.2f}".rjust(width) for value, width in zip(row, widths, strict=True)
                )
                lines.append(f"{layer:<10} {values}")
        return "\n".join(lines)


def layer_names(count: int) -> list[str]:
    """The rows of effects."""
    return ["embeddings", *(f"layer {number}" for number in range(count - 1))]


def patch_texts(
    translator: Translator,
    first: str,
    second: str,
    *,
    targets: tuple[str, str] | None = None,
    source_lang: str | None = None,
    target_lang: str | None = None,
) -> Patched:
    """Patch the vectors of the first text into the second, see `inspection.patching`.

    The two tokens are the first in which the translations differ: the model's own, or the given `targets`.

    Raises `UserError` for blank or long texts, for equal translations, for texts with different numbers of tokens (with
    both as tokens), and as `inspection.patching.patch` does.
    """
    texts = (first, second)
    prepared = translator.prepare([first, second], source_lang=source_lang, target_lang=target_lang)
    requests = [each.request for each in prepared if each.request is not None]
    if len(requests) < 2:
        raise UserError("a text is blank: give two sentences")
    one, other = (each.part.direction for each in prepared)
    if one != other:
        raise UserError(f"the texts seem to be in two languages ({one} and {other}): give --from (source_lang)")
    tokenizers = translator.tokenizers_of(one)
    sources = [list(request.source[:-1]) for request in requests]
    if max(map(len, sources)) > MAX_TOKENS:
        raise UserError(f"a text has {max(map(len, sources))} tokens, and at most {MAX_TOKENS} are patched")
    if targets is None:
        said = [list(found[0].ids) for found in translator.decode(requests)]
    else:
        said = [tokenizers.target.encode(text) for text in targets]
    pieces = [[readable(piece) for piece in tokenizers.source.pieces(ids)] for ids in sources]
    if len(sources[0]) != len(sources[1]):
        raise UserError(
            f"{' '.join(pieces[0])} has {len(sources[0])} tokens, and {' '.join(pieces[1])} has {len(sources[1])}: "
            "patching compares position by position; choose words with equal numbers of tokens"
        )
    sides = _sides(translator, sources, said)
    own = tokenizers.target
    shown = [readable(own.pieces([token])[0]) if token != translator.model.end_id else END_PIECE for token in sides[3:]]
    written = [own.decode(ids) for ids in said]
    joined = (one if one == other else f"{one}/{other}" for one, other in zip(*pieces, strict=True))
    return Patched(
        texts,
        (written[0], written[1]),
        (*joined, END_PIECE),
        (START_PIECE, *(readable(piece) for piece in own.pieces(sides.prefix))),
        (shown[0], shown[1]),
        patch(translator.model, sides),
    )


def _sides(translator: Translator, sources: Sequence[list[int]], said: Sequence[list[int]]) -> Sides:
    """The common prefix of the translations, and the tokens after it."""
    ended = [[*ids, translator.model.end_id] for ids in said]
    length = next((place for place, (one, other) in enumerate(zip(*ended, strict=False)) if one != other), None)
    if length is None:
        raise UserError(
            f"both texts have the translation {translator.tokenizers.target.decode(said[0])!r}: nothing can return; "
            "choose other texts, or give --target and --other-target (targets)"
        )
    return Sides(sources[0], sources[1], said[0][:length], ended[0][length], ended[1][length])
