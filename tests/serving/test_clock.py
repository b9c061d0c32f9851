"""A clock that is set forward or back by an hour: deadlines, quotas and documents do not notice, and what is stored
keeps its order."""

import ast
import asyncio
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

import limelight.serving
from limelight.serving import stored
from limelight.serving.keys import Key, Keys, digest
from limelight.serving.limits import Limits
from limelight.serving.stored import Glossaries, Memories, Sent, StoredMemory, read_entries
from tests.serving.helpers import Answered, carrying, running, table, translator, wait_until
from tests.serving.test_documents import fetched, send

HOUR = 3600.0
BODY = {"q": "dab", "source": "en", "target": "de"}


class Clock:
    """The clock of this process for everything but waits; `shift` is added to the true time."""

    shift = 0.0

    def now(self, zone: object) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=self.shift)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock, true = Clock(), time.time
    monkeypatch.setattr(time, "time", lambda: true() + clock.shift)
    monkeypatch.setattr(stored, "datetime", SimpleNamespace(now=clock.now, fromisoformat=datetime.fromisoformat))
    return clock


@pytest.mark.parametrize("shift", [HOUR, -HOUR])
def test_requests_and_quotas_do_not_notice(clock: Clock, shift: float) -> None:
    model, answers = table(1), list[Answered]()
    keys = Keys([Key("alice", digest("alice"), "", 30)])
    header = {"Authorization": "DeepL-Auth-Key alice"}
    with running({"one": translator(model)}, limits=Limits(queue_seconds=5.0), keys=keys) as service:
        model.gate.clear()
        body = {"text": ["dab"], "target_lang": "DE"}
        asking = threading.Thread(
            target=lambda: answers.append(service.send("POST", "/v2/translate", body, header)), daemon=True
        )
        asking.start()
        wait_until(lambda: service.counts()["in_progress"] == 1)
        clock.shift = shift
        model.gate.set()
        asking.join(600)
        assert answers[0].status == 200
        body = {"text": ["dab" * 10], "target_lang": "DE"}
        refused = service.send("POST", "/v2/translate", body, header)
        assert (refused.status, "of which 27 are left" in refused.value["message"]) == (429, True)


@pytest.mark.parametrize("shift", [HOUR, -HOUR])
def test_a_deadline_comes_when_it_would_have(clock: Clock, shift: float) -> None:
    model = table(1)
    with running({"one": translator(model)}, limits=Limits(deadline=0.5)) as service:
        model.gate.clear()
        threading.Timer(0.1, lambda: setattr(clock, "shift", shift)).start()
        try:
            assert service.post("/translate", BODY).status == 504
        finally:
            model.gate.set()


@pytest.mark.parametrize("shift", [HOUR, -HOUR])
def test_a_document_is_kept_as_long(clock: Clock, shift: float) -> None:
    with running({"one": carrying()}) as service:
        handle = send(service, b"the lamp").value
        clock.shift = shift
        first = fetched(service, handle)
        clock.shift = -shift
        assert fetched(service, handle) == first


def test_the_newest_is_the_newest_also_where_the_clock_was_set_back(clock: Clock, tmp_path: Path) -> None:
    async def main() -> None:
        memories, glossaries = Memories(Limits(), tmp_path / "memories"), Glossaries(tmp_path / "glossaries")
        entries = read_entries("en", "de", "lamp\tLampe", "\t")
        for number, shift in enumerate((0.0, -HOUR, HOUR, -HOUR)):
            clock.shift = shift
            await memories.add(
                StoredMemory(owner="", name=str(number), source="en", target="de"), Sent(pairs=[("a", "b")])
            )
            await glossaries.add("", str(number), [entries])

    asyncio.run(main())
    memories, glossaries = Memories(Limits(), tmp_path / "memories"), Glossaries(tmp_path / "glossaries")
    assert [name for name, *_ in memories.of("", "en", "de")] == ["3", "2", "1", "0"]
    assert [each.name for each in glossaries.list("")] == ["0", "1", "2", "3"]


WALL = {"time.time", "datetime.now", "datetime.utcnow", "datetime.today"}
SHOWN = {"stored.py", "keys.py", "logs.py", "openai.py"}
"""They store or show the time, and compute nothing with it but the order of what is stored."""


def test_nothing_else_of_the_service_reads_this_clock() -> None:
    folder = Path(limelight.serving.__file__).parent
    found = {
        path.name
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and ast.unparse(node) in WALL
    }
    assert found == SHOWN
