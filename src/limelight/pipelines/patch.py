"""Patching between two sentences: which vectors keep the difference between their translations."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from limelight.errors import UserError
from limelight.inspection.patching import Effects, Sides, patch
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
    source: Sequence[str]
    """The source tokens with their end; `first/second` where the two differ."""
    read: Sequence[str]
    """The start and the common tokens of the target."""
    tokens: tuple[str, str]
    """The first token in which the translations differ."""
    effects: Effects

    def values(self) -> dict[str, Any]:
        """All values for JSON."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "texts": list(self.texts),
            "translations": list(self.translations),
            "tokens": list(self.tokens),
            "difference": [self.effects.first, self.effects.second],
            "encoder": {"positions": list(self.source), "effects": self.effects.encoder.tolist()},
            "decoder": {"positions": list(self.read), "effects": self.effects.decoder.tolist()},
        }


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

    Raises `UserError` for blank or long texts, for equal translations, and as `inspection.patching.patch` does.
    """
    languages: Any = {"source_lang": source_lang, "target_lang": target_lang}
    one, other = targets or (None, None)
    tokenizers, source, said = translator.inspected(first, one, **languages)
    tokenizers_of_other, source_of_other, said_of_other = translator.inspected(second, other, **languages)
    if tokenizers is not tokenizers_of_other:
        raise UserError("the texts seem to be in two languages: give --from (source_lang)")
    if (longest := max(len(source), len(source_of_other))) > MAX_TOKENS:
        raise UserError(f"a text has {longest} tokens, and at most {MAX_TOKENS} are patched")
    own, end = tokenizers.target, translator.model.end_id
    both = list(zip([*said, end], [*said_of_other, end], strict=False))
    length = next((place for place, (token, wanted) in enumerate(both) if token != wanted), None)
    if length is None:
        raise UserError(
            f"both texts have the translation {own.decode(said)!r}: nothing can return; choose other texts, or give "
            "--target and --other-target (targets)"
        )
    token, other_token = both[length]
    effects = patch(translator.model, Sides(source, source_of_other, said[:length], token, other_token))
    pieces = zip(*(map(readable, tokenizers.source.pieces(ids)) for ids in (source, source_of_other)), strict=True)
    shown = [END_PIECE if each == end else readable(own.pieces([each])[0]) for each in (token, other_token)]
    return Patched(
        (first, second),
        (own.decode(said), own.decode(said_of_other)),
        [*(each if each == wanted else f"{each}/{wanted}" for each, wanted in pieces), END_PIECE],
        [START_PIECE, *map(readable, own.pieces(said[:length]))],
        (shown[0], shown[1]),
        effects,
    )
