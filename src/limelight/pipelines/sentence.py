"""One sentence between a translator and an engine: its request, and others of it where it has to be searched again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from limelight.config import Direction
from limelight.decoding.hypothesis import Hypothesis
from limelight.decoding.request import Request
from limelight.decoding.settings import SearchSettings
from limelight.pipelines.job import Steps
from limelight.pipelines.translation import Translation


@dataclass(frozen=True, slots=True)
class Prepared:
    """A sentence that is ready to be decoded."""

    text: str
    request: Request | None
    """What an engine is asked for; None for a blank text, of which there is nothing to decode."""
    direction: Direction | None = None
    """None for a model of one direction whose languages have no names."""
    marked: bool = False
    """Whether the text is marked: its placeholders are ids, and so are those of the translation."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A `Prepared` with a request, and how its translator makes others of it and reads what was found."""

    prepared: Prepared
    request: Request
    remade: Callable[[Prepared, str, bool], Prepared]
    """The same request of another text, which may be marked."""
    read: Callable[[Prepared, Sequence[Hypothesis]], Translation]
    unknown_share: float
    """The share of its letters that the vocabulary has no tokens of."""
    knows_placeholders: bool
    """Whether the model was trained with placeholders."""

    @property
    def text(self) -> str:
        """The source."""
        return self.prepared.text

    @property
    def settings(self) -> SearchSettings:
        """Those of its request."""
        return self.request.settings

    @property
    def is_free(self) -> bool:
        """Whether no beginning is forced."""
        return not self.request.prefix

    def search(
        self, text: str | None = None, *, marked: bool = False, settings: SearchSettings | None = None
    ) -> Steps[list[Translation]]:
        """Its translations, best first: of another text or with other settings where they are given."""
        asked = self.prepared if text is None else self.remade(self.prepared, text, marked)
        if asked.request is None:
            return []
        request = asked.request if settings is None else replace(asked.request, settings=settings)
        [hypotheses] = yield [request]
        found = self.read(asked, hypotheses)
        return [replace(each, source=self.text, alternatives=()) for each in (found, *found.alternatives)]
