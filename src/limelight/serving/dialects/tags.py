"""How a request says that its texts have tags, as DeepL names it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from limelight.serving.asks import TagHandling
from limelight.serving.call import Asked
from limelight.serving.refusal import bad_request


def as_names(value: Any) -> Any:
    """Names of tags: a list, or a string with commas between them."""
    values = value if isinstance(value, list) else [value]
    parts = [part for each in values for part in (each.split(",") if isinstance(each, str) else [each])]
    return [each.strip() if isinstance(each, str) else each for each in parts if each != ""]


Name = Annotated[str, Field(min_length=1, max_length=100)]
Names = Annotated[
    Annotated[list[Name], Field(max_length=100)], BeforeValidator(as_names, json_schema_input_type=str | list[Name])
]


class Tagging(Asked):
    """The fields of a request."""

    tag_handling: Literal["xml", "html", "markdown", ""] | None = None
    """The kind of markup in the texts; if omitted, tags are kept like variables."""
    ignore_tags: Names = Field([])
    """Names of elements whose content is not translated."""
    splitting_tags: Names = Field([])
    """Names of tags that end a sentence."""
    non_splitting_tags: Names = Field([])
    """Names of tags that do not end a sentence."""
    outline_detection: bool = True
    """Whether XML tags without adjacent text also end a sentence."""

    def handling(self) -> TagHandling | None:
        """How tags are read; None for plain text. Raises `Refusal` for names of tags in such a text."""
        names = ("ignore_tags", "splitting_tags", "non_splitting_tags")
        given = [name for name in names if getattr(self, name)]
        if given and self.tag_handling not in ("xml", "html"):
            raise bad_request(f"{given[0]}: only for xml and html: give tag_handling, too")
        if not self.tag_handling:
            return None
        xml = self.tag_handling == "xml"
        ignored, splitting, inline = (
            tuple(each.rpartition(":")[2] if xml else each.lower() for each in getattr(self, name)) for name in names
        )
        return TagHandling(self.tag_handling, ignored, splitting, inline, self.outline_detection)
