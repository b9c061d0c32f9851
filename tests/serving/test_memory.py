"""The service with a translation memory: what is in it is reused in every API, and shown in our own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from limelight.serving.links import Loading
from limelight.storage.layout import DEFAULT, bundled_models
from tests.serving.helpers import Running, running

CLOSED = "The pharmacy is closed today."
PAIRS = {CLOSED: "Die Apotheke hat heute zu.", "I am here.": "Da bin ich."}
pytestmark = pytest.mark.filterwarnings("ignore:.*its index is made")  # a line of the log
ASKED = {"source_lang": "en", "target_lang": "de"}


def tmx(pairs: dict[str, str]) -> str:
    units = (
        f'<tu><tuv xml:lang="en"><seg>{source}</seg></tuv><tuv xml:lang="de"><seg>{target}</seg></tuv></tu>'
        for source, target in pairs.items()
    )
    return f'<?xml version="1.0"?><tmx version="1.4"><header srclang="en"/><body>{"".join(units)}</body></tmx>'


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Running]:
    file = tmp_path / "m.tmx"
    file.write_text(tmx(PAIRS), encoding="utf-8")
    with running({"box": Loading(str(bundled_models()[DEFAULT]), memory=str(file))}) as one:
        yield one


def test_segments_are_reused_in_every_api(service: Running) -> None:
    text = f"{CLOSED} I am here."
    expected = "Die Apotheke hat heute zu. Da bin ich."
    own = service.post("/api/v1/translate", {"text": text, **ASKED}).value["translations"][0]
    assert own["text"] == expected
    assert [each["matches"][0]["similarity"] for each in own["sentences"]] == [1.0, 1.0]
    assert own["sentences"][0]["matches"][0]["origin"].endswith("m.tmx:1")
