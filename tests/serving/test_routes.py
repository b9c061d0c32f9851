"""How a request finds its route, and what it costs."""

from collections.abc import Iterator

import pytest
import starlette.routing

from limelight.serving import app
from tests.serving.helpers import Running, running, table, translator


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    with running({"one": translator(table(1))}) as started:
        yield started


def test_a_fixed_path_is_found_without_trying_every_route(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    tried, matches = [], starlette.routing.Route.matches
    monkeypatch.setattr(
        starlette.routing.Route, "matches", lambda self, scope: tried.append(self.path) or matches(self, scope)
    )
    assert service.post("/translate", {"q": "dab", "source": "en", "target": "de"}).status == 200
    assert service.get("/health").status == 200
    assert not tried
    assert service.get("/page/main.js").status == 200
    assert service.get("/page/{name}").status == 404
    assert service.get("/translate").status == 405
    assert service.get("/translate/").status == 404
    assert tried


def test_a_refusal_needs_no_watch_over_its_client(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is done in the first step of its task; what takes longer is watched."""
    watched, left = [], app._left
    monkeypatch.setattr(app, "_left", lambda receive: watched.append(1) or left(receive))
    assert service.post("/translate", {"q": "dab", "source": "en", "target": "zz"}).status == 400
    assert not watched
    assert service.post("/translate", {"q": "dab", "source": "en", "target": "de"}).status == 200
    assert watched
