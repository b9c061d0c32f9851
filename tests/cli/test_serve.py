"""`limelight serve` and `limelight keys`: what is refused before anything is loaded, and real processes."""

import io
import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from limelight.cli.app import run
from limelight.cli.serve import is_loopback, named_models
from limelight.errors import UserError
from limelight.pipelines.load import load_translator
from tests.cli.conftest import Limelight
from tests.forked import Forked
from tests.serving.helpers import wait_until

ROOT = Path(__file__).parents[2]


def test_names_of_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("limelight.cli.serve.find_models", lambda folders: folders)
    odd = tmp_path / "a=b"
    odd.mkdir()
    words = [str(odd), f"news={odd}", f"{tmp_path}/", "bundled"]
    named = {"a=b": str(odd), "news": str(odd), tmp_path.name: f"{tmp_path}/", "bundled": "bundled"}
    assert named_models(words) == named
    strange = tmp_path / os.fsdecode(b"run\xff")
    assert named_models([f"news={strange}"]) == {"news": str(strange)}
    strange.mkdir()
    with pytest.raises(UserError, match="NAME="):  # it could not be in an answer
        named_models([str(strange)])


def test_loopback() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.1.2.3", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.168.1.2", "example.org", "")))


def test_keys_are_made_listed_and_revoked(
    limelight: Limelight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = ["--keys", str(tmp_path / "keys.json")]
    made = limelight("keys", "add", "alice", *file, "--characters-per-minute", "100")
    assert made.code == 0
    assert len(made.out.strip()) >= 40
    assert "once" in made.err
    (line,) = limelight("keys", "list", *file).out.splitlines()
    assert line.startswith("alice  ")
    assert line.endswith("100 characters a minute")
    assert limelight("keys", "revoke", "alice", *file).code == 0
    assert limelight("keys", "list", *file).out == ""
    limelight("keys", "add", "Łukasz", *file)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="cp1252"))
    assert run(["keys", "list", *file]) == 0


def test_it_starts_without_standard_output_and_engines_inherit_the_bound_of_spinning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """torch reads it when it is imported, and the process of an engine does so before anything else."""

    async def run_service(*_: object, **__: object) -> None:
        seen.append(os.environ["GOMP_SPINCOUNT"])

    seen: list[str] = []
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
    monkeypatch.setattr("limelight.cli.serve.ignore_hangup", lambda: None)
    monkeypatch.setattr("limelight.cli.serve.named_models", lambda words: {})
    monkeypatch.setattr("limelight.serving.logs.log_warnings", lambda log: None)
    monkeypatch.setattr("limelight.serving.server.run_service", run_service)
    monkeypatch.setattr(sys, "stdout", None)
    assert (run(["serve"]), seen) == (0, ["3000"])


@contextmanager
def served(*words: str) -> Iterator[tuple[str, Forked]]:
    """A service in a process of its own, once it is ready."""
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "limelight", "serve", "--port", "0", *words]
    with Forked(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        lines: list[dict[str, Any]] = []
        try:
            for line in process.stderr:
                lines.append(json.loads(line))
                if lines[-1]["event"] == "engine_ready":
                    break
            port = next(each["port"] for each in lines if each["event"] == "listening")
            yield f"http://127.0.0.1:{port}", process
        finally:
            process.kill()


def sent(url: str, body: dict) -> Any:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    return urllib.request.urlopen(request, timeout=600)


def post(url: str, body: dict) -> Any:
    with sent(url, body) as answer:
        return json.load(answer)


def test_it_translates_and_drains_at_sigterm(trained: Path) -> None:
    """What was accepted before the signal is answered after it; then it ends with 0 and leaves no process."""
    expected = load_translator(trained).translate("the dog sees the cat").text
    with served("--model", f"tiny={trained}") as (url, process):
        body = {"text": "the dog sees the cat", "model": "tiny"}
        assert post(f"{url}/api/v1/translate", body)["translations"][0]["text"] == expected
        assert post(f"{url}/v2/translate", {"text": ["the dog"], "target_lang": "lumi"})["translations"]
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert len(children) in (1, 2), "an engine, and the resource tracker of Python"
        many = {"text": [f"the dog sees the cat {number}" for number in range(100)], "stream": True}
        with sent(f"{url}/api/v1/translate", many) as answer:  # it begins with the first translation
            process.send_signal(signal.SIGTERM)
            last = answer.read().decode().rpartition("data: ")[2]
        assert len(json.loads(last)["translations"]) == 100
        assert process.wait(600) == 0
        wait_until(lambda: not any(Path(f"/proc/{child}").exists() for child in children))
