"""What is refused for a limit: each message names the value, the bound and the remedy, in each dialect's format."""

from collections.abc import Iterator
from typing import Any

import pytest

from limelight.serving.limits import Limits
from tests.serving.helpers import Answered, Running, running, table, translator
from tests.serving.test_app import message_of

LIMITS = Limits(characters=20, texts=3, beam=4, n_best=2, body=4000, document=1024)
LONG = "dab " * 6


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    with running({"one": translator(table(1))}, limits=LIMITS) as started:
        yield started


def told(answer: Answered, status: int, *words: str) -> None:
    assert answer.status == status, answer
    message = message_of(answer.value)
    assert all(word in message for word in words), message


def sent(path: str, text: Any) -> dict[str, Any]:
    """A request of each dialect for these texts."""
    texts = text if isinstance(text, list) else [text]
    bodies: dict[str, dict[str, Any]] = {
        "/api/v1/translate": {"text": texts},
        "/v2/translate": {"text": texts, "target_lang": "DE"},
        "/translate": {"q": texts, "source": "en", "target": "de"},
        "/v1/chat/completions": {"model": "one", "messages": [{"role": "user", "content": texts[0]}]},
    }
    return bodies[path]


DIALECTS = ["/api/v1/translate", "/v2/translate", "/translate", "/v1/chat/completions"]


@pytest.mark.parametrize("path", DIALECTS)
def test_characters_and_bytes(service: Running, path: str) -> None:
    told(service.post(path, sent(path, LONG)), 413, "24 characters", "at most 20", "send less", "--max-characters")
    told(service.post(path, sent(path, "a" * 5000)), 413, "bytes", "at most 4,000", "send less", "--max-body")
    chunked = service.send("POST", path, iter([b"a" * 4001]), {"Content-Type": "application/json"})
    told(chunked, 413, "at most 4,000", "--max-body")


@pytest.mark.parametrize("path", DIALECTS[:3])
def test_texts(service: Running, path: str) -> None:
    told(service.post(path, sent(path, ["a"] * 4)), 413, "4 texts", "at most 3", "divide", "--max-texts")


def test_a_prefix_counts_and_is_for_one_text(service: Running) -> None:
    path = "/api/v1/translate"
    told(service.post(path, {"text": "a", "prefix": "b" * 20}), 413, "21 characters", "at most 20", "--max-characters")
    told(service.post(path, {"text": ["a", "b"], "prefix": "b"}), 400, "single text")
    assert service.post(path, {"text": "a", "prefix": "b"}).status == 200


@pytest.mark.parametrize("path", ["/v2/document", "/translate_file"])
def test_uploads(service: Running, path: str) -> None:
    body = b"a" * 1025
    answer = service.post(path, body, **{"Content-Type": "multipart/form-data; boundary=x"})
    told(answer, 413, "1,025 bytes", "at most 1,024", "divide the document", "--max-upload")


@pytest.mark.parametrize(
    ("path", "changed", "words"),
    [
        ("/api/v1/translate", {"beam_size": 5}, ["beam_size", "from 1 to 4", "not 5", "--max-beam"]),
        ("/api/v1/translate", {"n_best": 3}, ["n_best", "from 1 to 2", "not 3", "--max-n-best"]),
        ("/api/v1/page/explain", {"text": "a", "beam_size": 5}, ["beam_size", "from 1 to 4", "not 5", "--max-beam"]),
        ("/api/v1/page/explain", {"text": "a", "beam_size": 0}, ["beam_size", "from 1 to 4", "not 0", "--max-beam"]),
        ("/translate", {"alternatives": 2}, ["alternatives must be from 0 to 1", "not 2", "--max-n-best"]),
        ("/translate", {"alternatives": 99}, ["alternatives must be from 0 to 1", "not 99", "--max-n-best"]),
    ],
)
def test_widths(service: Running, path: str, changed: dict[str, Any], words: list[str]) -> None:
    body = sent(path, "a") if path in DIALECTS else {}
    told(service.post(path, {**body, **changed}), 400, *words)


def test_characters_of_a_wide_search_or_of_many_translations_count_for_more() -> None:
    """For all of its cost: a beam of 8 may have half as many as one of 4, two translations half as many as one."""
    with running({"one": translator(table(1))}, limits=Limits(characters=20, beam=8, n_best=8)) as service:
        for wide in ({"beam_size": 8}, {"n_best": 2}):
            told(service.post("/api/v1/translate", {"text": "a" * 11, **wide}), 413, "11 characters",
                 "count as 22 with this beam_size and n_best", "at most 20", "fewer hypotheses",
                 "--max-characters")  # fmt: skip
            assert service.post("/api/v1/translate", {"text": "a" * 10, **wide}).status == 200
        assert service.post("/api/v1/translate", {"text": "a" * 20, "beam_size": 4}).status == 200


def test_the_deadline() -> None:
    model = table(8)
    with running({"one": translator(model)}, limits=Limits(deadline=0.5)) as service:
        model.gate.clear()
        answer = service.post("/translate", sent("/translate", "dab"))
        model.gate.set()
        told(answer, 504, "longer than 0.5 s", "send less", "--deadline")
