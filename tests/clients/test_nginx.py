"""nginx of the distribution with the file of deploy/, in front of a service on this machine."""

import http.client
import json
import re
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.test_serve import ROOT

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
pytestmark = pytest.mark.skipif(NGINX is None, reason="there is no nginx: apt-get install nginx-light")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


def configured(folder: Path, upstream: str, port: int) -> Path:
    """The shipped file with the ports of this test, and without Docker's name server; all else is unchanged."""
    shipped = (ROOT / "deploy" / "nginx.conf").read_text(encoding="utf-8")
    for old, new in (
        (r"resolver [^;]*;", ""),
        (r"listen 8000;", f"listen 127.0.0.1:{port};"),
        (r"http://translate:8000", upstream),
    ):
        shipped, found = re.subn(old, new, shipped)
        assert found == 1, old
    temporary = "".join(
        f"{name}_temp_path {folder}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    path = folder / "nginx.conf"
    path.write_text(
        f"daemon off;\nmaster_process off;\npid {folder}/pid;\nerror_log {folder}/error.log;\n"
        f"events {{}}\nhttp {{\naccess_log off;\n{temporary}{shipped}}}\n",
        encoding="utf-8",
    )
    return path


@pytest.fixture(scope="module")
def front(bundled: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder, port = tmp_path_factory.mktemp("nginx"), free_port()
    path = configured(folder, bundled, port)
    assert NGINX is not None
    subprocess.run([NGINX, "-t", "-q", "-c", str(path), "-p", str(folder)], check=True, timeout=600)
    with subprocess.Popen([NGINX, "-c", str(path), "-p", str(folder)]) as process:
        try:
            for _ in range(200):
                with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def test_texts_and_refusals_pass(front: str) -> None:
    body = json.dumps({"text": ["A dog runs."], "target_lang": "DE"}).encode()
    request = urllib.request.Request(f"{front}/v2/translate", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as answer:
        assert json.load(answer)["translations"][0]["text"] == "Ein Hund läuft."
    with pytest.raises(urllib.error.HTTPError, match="400") as caught:
        urllib.request.urlopen(f"{front}/omegat?source=en", timeout=600)
    assert "error" in json.load(caught.value)


def test_a_document_as_large_as_the_service_takes_passes(front: str) -> None:
    """And the link to its translation is that of the balancer, by the name and port that the client asked."""
    content = b"A dog runs.\n" + b"\n" * 3_000_000
    head = "".join(
        f'--x\r\nContent-Disposition: form-data; name="{a}"\r\n\r\n{b}\r\n'
        for a, b in (("source", "en"), ("target", "de"))
    )
    head += '--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
    request = urllib.request.Request(
        f"{front}/translate_file",
        head.encode() + content + b"\r\n--x--\r\n",
        {"Content-Type": "multipart/form-data; boundary=x"},
    )
    with urllib.request.urlopen(request, timeout=600) as answer:
        link = json.load(answer)["translatedFileUrl"]
    assert link.startswith(f"{front}/download_file/")
    with urllib.request.urlopen(link, timeout=600) as answer:
        assert answer.read().startswith("Ein Hund läuft.\n".encode())


def test_a_stream_is_not_held_back(front: str) -> None:
    """Its first event is there before its last one."""
    connection = http.client.HTTPConnection(front.removeprefix("http://"), timeout=600)
    text = "My sister drinks a cup of tea every evening, and my brother reads a book before he goes to bed. " * 8
    body = json.dumps({"text": text, "target_lang": "de", "stream": True})
    connection.request("POST", "/api/v1/translate", body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    first = response.read1()
    assert first.startswith(b"event: partial")
    assert b"event: done" not in first
    assert b"event: done" in response.read()
    connection.close()
