"""What OmegaT's plugins for local machine translation ask: `GET /omegat?source=en-US&target=de-DE&text=...`.

The answer is `{"translation": ...}`. The plugins send no header, so a key stands in the address, as `api_key`.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from limelight.serving.asks import Ask
from limelight.serving.call import Call, Reply, Result, Route
from limelight.serving.dialects.deepl import translated
from limelight.serving.dialects.libretranslate import LIBRETRANSLATE
from limelight.serving.service import Service


class Asked(BaseModel):
    """A request."""

    model_config = ConfigDict(extra="ignore")

    text: str
    source: str = Field(min_length=1, max_length=20)
    target: str = Field(min_length=1, max_length=20)


class Translation(Result):
    """The answer."""

    translation: str


async def translate(service: Service, call: Call) -> Reply:
    """Translate the text of one segment."""
    asked = call.read(Asked)
    source = "" if asked.source == "auto" else asked.source
    (answer,) = await translated(service, call.client, Ask([asked.text], asked.target, source))
    return Reply({"translation": answer.text})


ROUTES = (Route("GET", "/omegat", LIBRETRANSLATE, translate, Translation, form=Asked),)
