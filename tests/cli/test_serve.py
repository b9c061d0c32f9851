"""`limelight serve` and `limelight keys`: what is refused before anything is loaded, and real processes."""

import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from limelight.cli.serve import is_loopback, named_model
from limelight.pipelines.load import load_translator
from tests.cli.conftest import Limelight
from tests.forked import Forked
from tests.serving.helpers import wait_until

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--model", "no-such-run"], "no-such-run"),
        (["--host", "0.0.0.0"], "--keys FILE"),
        (["--host", "example.org"], "is reachable from other machines"),
        (["--keys", "no-such-file"], "limelight keys add"),
        (["--keys", "."], "is a directory"),
        (["--keys", "a", "--no-keys"], "exclude each other"),
        (["--port", "70000"], "from 0 up and at most 65535"),
        (["--engines", "0"], "whole number"),
        (["--deadline", "0"], "number from"),
        (["--max-upload", "5"], "from 1024"),
        (["--cors", "example.org"], "https://example.org"),
        (["--cors", "https://example.org/"], "a scheme and a host"),
    ],
)
def test_a_bad_command_line_is_refused(limelight: Limelight, trained: Path, words: list[str], says: str) -> None:
    given = words if "--model" in words else ["--model", str(trained), *words]
    ended = limelight("serve", *given)
    assert ended.code == 2
    assert says in ended.err


def test_two_models_need_two_names(limelight: Limelight, trained: Path) -> None:
    ended = limelight("serve", "--model", str(trained), "--model", f"en-lumi={trained}")
    assert ended.code == 2
    assert "NAME=" in ended.err


def test_names_of_models(tmp_path: Path) -> None:
    odd = tmp_path / "a=b"
    odd.mkdir()
    assert named_model(str(odd)) == ("a=b", str(odd))
    assert named_model(f"news={odd}") == ("news", str(odd))
    assert named_model(f"{tmp_path}/") == (tmp_path.name, f"{tmp_path}/")
    assert named_model("bundled") == ("bundled", "bundled")


def test_loopback() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.1.2.3", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.168.1.2", "example.org", "")))


def test_keys_are_made_listed_and_revoked(limelight: Limelight, tmp_path: Path) -> None:
    file = ["--keys", str(tmp_path / "keys.json")]
    made = limelight("keys", "add", "alice", *file, "--characters-per-minute", "100")
    assert made.code == 0
    assert len(made.out.strip()) >= 40
    assert "once" in made.err
    (line,) = limelight("keys", "list", *file, "--json").out.splitlines()
    assert json.loads(line)["name"] == "alice"
    assert "100 characters a minute" in limelight("keys", "list", *file).out
    assert limelight("keys", "revoke", "alice", *file).code == 0
    assert limelight("keys", "list", *file).out == ""
    made = json.loads(limelight("keys", "add", "bob", *file, "--json").out)
    assert (made["name"], len(made["key"]) >= 40) == ("bob", True)
    for words in (["add"], ["list", "x"], ["lend", "x"], ["revoke", "x"]):
        assert limelight("keys", *words, *file).code == 2


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


def post(url: str, body: dict) -> Any:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as answer:
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
        found: list[Any] = []
        many = {"text": [f"the dog sees the cat {number}" for number in range(100)]}
        client = threading.Thread(target=lambda: found.append(post(f"{url}/api/v1/translate", many)))
        client.start()
        while not in_progress(url):
            assert client.is_alive() or found
            if found:
                break
        process.send_signal(signal.SIGTERM)
        client.join()
        assert len(found[0]["translations"]) == 100
        assert process.wait(600) == 0
        wait_until(lambda: not any(Path(f"/proc/{child}").exists() for child in children))


def test_each_line_of_standard_error_is_json() -> None:
    """Without --model, from the first line to the last one, and with a warning of a library. The process ends while its
    engine loads, as where that takes longer than engines have to end."""
    code = (
        "import asyncio, sys, warnings; from limelight.serving import run; begin, end = run.listen, run.end_engines\n"
        "run.end_engines = lambda service: end(service, 0.0)\n"
        "run.listen = lambda *place: (warnings.warn('a sentence of a user'), begin(*place))[1]\n"
        "from limelight.cli.app import main; sys.argv = ['limelight', 'serve', '--port', '0']; main()"
    )
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))
    command = [sys.executable, "-c", code]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path}
    ) as process:
        assert process.stderr is not None
        lines = []
        for line in process.stderr:
            lines.append(json.loads(line))
            if lines[-1]["event"] == "listening":  # before the model is loaded, which takes longer
                process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        assert process.stdout.read() == ""
        assert process.wait(600) == 0
    events = [line["event"] for line in lines]
    assert events[:3] == ["warning", "loading", "listening"]
    assert "drained" in events  # the engine may become ready after that
    assert lines[2]["models"] == ["tatoeba-en-de-fr"]
    assert "sentence" not in json.dumps(lines)


def test_glossaries_outlive_the_service(trained: Path, tmp_path: Path) -> None:
    """Killed without a word, and started again: what was answered for is there, and its terms are used."""
    words = ["--model", f"tiny={trained}", "--glossaries", str(tmp_path / "kept")]
    languages = {"source_lang": "en", "target_lang": "lumi"}
    with served(*words) as (url, _):
        made = post(f"{url}/v2/glossaries", {"name": "pets", "entries": "cat\tKater", **languages})
    with served(*words) as (url, _):
        with urllib.request.urlopen(f"{url}/v2/glossaries/{made['glossary_id']}", timeout=600) as answer:
            assert json.load(answer) == made
        body = {"text": ["the cat"], "glossary_id": made["glossary_id"], **languages}
        assert "Kater" in post(f"{url}/v2/translate", body)["translations"][0]["text"]
    with served(*words[:-2]) as (url, _):
        assert post_status(f"{url}/v2/translate", body) == 404, "in memory, they end with the service"


def post_status(url: str, body: dict) -> int:
    try:
        post(url, body)
    except urllib.error.HTTPError as error:
        return error.code
    return 200


def in_progress(url: str) -> bool:
    with urllib.request.urlopen(f"{url}/metrics", timeout=600) as answer:
        return b"limelight_requests_in_progress 1.0" in answer.read()


def test_an_address_that_is_taken_is_told(trained: Path, limelight: Limelight) -> None:
    with served("--model", str(trained)) as (url, _):
        port = url.rpartition(":")[2]
        ended = limelight("serve", "--model", str(trained), "--port", port)
        assert ended.code == 1
        assert "--port" in ended.err


def test_a_reload_that_is_asked_for_too_early_ends_nothing() -> None:
    code = (
        "import os, signal, sys; from limelight.cli import serve; begun = serve._named\n"
        "serve._named = lambda words: (os.kill(os.getpid(), signal.SIGHUP), os._exit(7))\n"
        "from limelight.cli.app import main; sys.argv = ['limelight', 'serve']; main()"
    )
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))
    ended = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, check=False)
    assert ended.returncode == 7
