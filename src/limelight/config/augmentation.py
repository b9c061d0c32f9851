"""How training text is varied while it is read, so that a model meets more forms of text than its corpus has."""

from typing import Annotated

from pydantic import Field

from limelight.config.section import Section

Rate = Annotated[float, Field(ge=0, le=1)]


class AugmentationConfig(Section):
    """The share of pairs that each augmentation changes, in every epoch anew; 0 switches it off.

    One pair can meet several of them.
    """

    join: Rate = 0.0
    """Two or three pairs become one, with their sentences one after another."""
    placeholders: Rate = 0.0
    """Placeholders stand in place of aligned words, around and between them: the model learns to carry them over."""
    terms: Rate = 0.0
    """Words of the source are followed by the form that the target uses: the model learns to use what it is given."""
    names: Rate = 0.0
    """Names that both sides share become other names: the model learns to copy them."""
    numbers: Rate = 0.0
    """Numbers that both sides share become other numbers, written as each language writes them."""
    inserts: Rate = 0.0
    """Both sides get the same URL, e-mail address, emoji, code or foreign word."""
    same: Rate = 0.0
    """The source becomes the target: text that is in the target language already stays as it is."""
    quotes: Rate = 0.0
    """Both sides stand in the quotation marks of their languages."""
    lists: Rate = 0.0
    """Both sides begin with the same list mark."""
    bare: Rate = 0.0
    """Both sides lose their final punctuation mark."""
    lowercase: Rate = 0.0
    """Both sides are lowercased."""
    uppercase: Rate = 0.0
    """Both sides are written in CAPITALS."""
    titlecase: Rate = 0.0
    """Every Word Of The Source Begins With A Capital; the target stays as it is."""
    typos: Rate = 0.0
    """The source gets one or two typing errors: letters swapped, lost, doubled or mistaken for their neighbors."""

    decimals: Rate = 0.0
    """Numbers that both sides share become decimals as each language writes them; other pairs get the same quantity."""
    signs: Rate = 0.0
    """Both sides get the same brackets, signs, variables or code."""

    @property
    def needs_alignments(self) -> bool:
        """Whether it has to be known which words translate one another."""
        return self.placeholders > 0 or self.terms > 0

    @property
    def active(self) -> bool:
        """Whether anything is changed at all."""
        return any(rate > 0 for rate in self.model_dump().values())
