"""Patching between two sentences: which vectors keep the difference between their translations."""

from dataclasses import dataclass
from typing import Any

from limelight.errors import UserError
from limelight.inspection.heatmap import Panel
from limelight.inspection.patching import Effects, Sides, patch
from limelight.inspection.views import View
from limelight.inspection.words import END_PIECE, START_PIECE, readable
from limelight.pipelines.translator import Translator

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

    @property
    def view(self) -> View:
        """The effects for a file: a panel for the encoder and one for the decoder."""
        title = "\n".join(f"{text} → {said}" for text, said in zip(self.texts, self.translations, strict=True))
        title += f"\nwhat returns of {self.tokens[0]} instead of {self.tokens[1]}: encoder, decoder"
        sides = (("encoder", self.effects.encoder, self.source), ("decoder", self.effects.decoder, self.read))
        panels = [Panel(name, effects, layer_names(len(effects)), columns) for name, effects, columns in sides]
        return View("patching", title, panels)

    def values(self) -> dict[str, Any]:
        """All values for JSON."""
        values: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "texts": list(self.texts),
            "translations": list(self.translations),
            "tokens": list(self.tokens),
            "difference": [self.effects.first, self.effects.second],
        }
        return values | {
            panel.name: {"positions": list(panel.columns), "effects": panel.values.tolist()}
            for panel in self.view.panels
        }

    def table(self) -> str:
        """The effects as text."""
        (one, other), effects = self.tokens, self.effects
        difference = f"{effects.first:+.2f} with the first source, {effects.second:+.2f} with the second"
        lines = [*self.view.title.split("\n")[:2], f"log p({one}) - log p({other}): {difference}"]
        for panel in self.view.panels:
            widths = [max(5, len(column)) for column in panel.columns]
            rows = [panel.columns, *([f"{value + 0:.2f}" for value in row.round(2)] for row in panel.values)]
            lines.append("")
            for name, row in zip([panel.name, *panel.rows], rows, strict=True):
                cells = (text.rjust(width) for text, width in zip(row, widths, strict=True))
                lines.append(f"{name:<10} {' '.join(cells)}")
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
    prepared = translator.prepare([first, second], source_lang=source_lang, target_lang=target_lang)
    requests = [each.request for each in prepared if each.request is not None]
    if len(requests) < 2:
        raise UserError("a text is blank: give two sentences")
    one, other = (each.direction for each in prepared)
    if one != other:
        raise UserError(f"the texts seem to be in two languages ({one} and {other}): give --from (source_lang)")
    tokenizers, end = translator.tokenizers_of(one), translator.model.end_id
    own, sources = tokenizers.target, [list(request.source[:-1]) for request in requests]
    if (longest := max(map(len, sources))) > MAX_TOKENS:
        raise UserError(f"a text has {longest} tokens, and at most {MAX_TOKENS} are patched")
    pieces = [[readable(piece) for piece in tokenizers.source.pieces(ids)] for ids in sources]
    if len(sources[0]) != len(sources[1]):
        raise UserError(
            f"{' '.join(pieces[0])} has {len(sources[0])} tokens, and {' '.join(pieces[1])} has {len(sources[1])}: "
            "patching compares position by position; choose words with equal numbers of tokens"
        )
    if targets is None:
        said = [list(found[0].ids) for found in translator.decode(requests)]
    else:
        said = [own.encode(text) for text in targets]

    def shown(token: int) -> str:
        return END_PIECE if token == end else readable(own.pieces([token])[0])

    both = list(zip([*said[0], end], [*said[1], end], strict=False))
    length = next((place for place, (token, wanted) in enumerate(both) if token != wanted), None)
    if length is None:
        raise UserError(
            f"both texts have the translation {own.decode(said[0])!r}: nothing can return; choose other texts, or give "
            "--target and --other-target (targets)"
        )
    sides = Sides(sources[0], sources[1], said[0][:length], *both[length])
    return Patched(
        (first, second),
        (own.decode(said[0]), own.decode(said[1])),
        (*(each if each == wanted else f"{each}/{wanted}" for each, wanted in zip(*pieces, strict=True)), END_PIECE),
        (START_PIECE, *map(readable, own.pieces(sides.prefix))),
        (shown(sides.token), shown(sides.other_token)),
        patch(translator.model, sides),
    )
