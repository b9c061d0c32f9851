"""A service begins with its keys, and tells that it has."""

import asyncio
import http.client
import json
import os
import signal
import socket
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from limelight.errors import UserError
from limelight.serving.keys import add_key, read_keys
from limelight.serving.logs import Log
from limelight.serving.run import Plan, run_service


class Signalled:
    """A service of no model in this process."""

    def __init__(self, keys: Path) -> None:
        self._log, self._keys, self.secret = StringIO(), keys, add_key(keys, "alice")

    def events(self, name: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self._log.getvalue().splitlines()]
        return [line for line in lines if line["event"] == name]

    async def status(self) -> int:
        """Of a request with the first key."""
        return await asyncio.to_thread(self._asked, self.events("listening")[0]["port"])

    def _asked(self, port: int) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
        connection.request("GET", "/v2/usage", headers={"Authorization": f"DeepL-Auth-Key {self.secret}"})
        status = connection.getresponse().status
        connection.close()
        return status

    def run(self, work: Callable[[], Any]) -> None:
        """The service, while `work` is done."""

        async def main() -> None:
            serving = asyncio.create_task(run_service(Plan({}, port=0, keys=self._keys), Log(self._log)))
            await until(lambda: bool(self.events("listening")))
            try:
                await work()
            finally:
                os.kill(os.getpid(), signal.SIGTERM)
                await asyncio.wait_for(serving, 600)

        asyncio.run(main())


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(600):
        while not holds():
            await asyncio.sleep(0.002)


@pytest.mark.parametrize("content", [None, "{", "[]"])
def test_a_service_does_not_begin_without_the_keys_it_is_to_have(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "keys.json"
    if content is not None:
        path.write_text(content)
        with pytest.raises(UserError):
            read_keys(path)
    with pytest.raises(UserError, match=r"keys\.json"):
        asyncio.run(run_service(Plan({}, port=0, keys=path), Log(StringIO())))


def test_systemd_is_told_when_requests_are_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`Type=notify` of the unit in deploy/ waits for it."""
    service = Signalled(tmp_path / "keys.json")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.setblocking(False)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))

        async def work() -> None:
            assert systemd.recv(100) == b"READY=1"
            assert await service.status() == 200

        service.run(work)
