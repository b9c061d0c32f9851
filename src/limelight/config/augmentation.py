"""Augmentation: random changes to training text as it is read."""

from typing import Annotated

from pydantic import Field

from limelight.config.section import Section

Rate = Annotated[float, Field(ge=0, le=1)]


class AugmentationConfig(Section):
    """The share of pairs that each augmentation changes, drawn again in every epoch; 0 disables it.

    Several can apply to one pair.
    """

    join: Rate = 0.0
    """Two or three pairs are joined into one."""
    placeholders: Rate = 0.0
    """Placeholders replace aligned words, surround them or are inserted between them: the model learns to copy them."""
    terms: Rate = 0.0
    """Source words are followed by the form that the target uses: the model learns to use given terms."""
    names: Rate = 0.0
    """Names that both sides share are replaced by other names: the model learns to copy them."""
    numbers: Rate = 0.0
    """Numbers that both sides share are replaced by other numbers, in each language's notation."""
    inserts: Rate = 0.0
    """Both sides get the same URL, e-mail address, emoji, code or foreign word."""
    same: Rate = 0.0
    """The source is replaced by the target: the model learns to leave text in the target language unchanged."""
    quotes: Rate = 0.0
    """Both sides are put in the quotation marks of their languages."""
    lists: Rate = 0.0
    """Both sides get the same list marker at the beginning."""
    bare: Rate = 0.0
    """Both sides lose their final punctuation mark."""
    lowercase: Rate = 0.0
    """Both sides are lowercased."""
    uppercase: Rate = 0.0
    """Both sides are uppercased."""
    titlecase: Rate = 0.0
    """The source is converted to title case; the target is unchanged."""
    typos: Rate = 0.0
    """The source gets one or two typing errors: letters swapped, dropped, doubled or replaced by adjacent keys."""

    decimals: Rate = 0.0
    """Numbers that both sides share become decimals in each language's notation; other pairs get the same quantity."""
    signs: Rate = 0.0
    """Both sides get the same brackets, signs, variables or code."""

    @property
    def needs_alignments(self) -> bool:
        """Whether word alignments are needed."""
        return self.placeholders > 0 or self.terms > 0

    @property
    def active(self) -> bool:
        """Whether any augmentation is enabled."""
        return any(rate > 0 for rate in self.model_dump().values())
