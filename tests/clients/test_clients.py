"""The clients that people have, as they come from the registries: nothing of them is changed."""

import io
import json
import os
import shutil
import subprocess
import urllib.error
from pathlib import Path

import pytest

from tests.clients.conftest import Place

deepl = pytest.importorskip("deepl", reason="make test-clients installs the clients")

TEXTS = ["the dog sees the cat", "a cat runs"]
NODE = Path(os.environ.get("LIMELIGHT_NODE_CLIENTS", "no such folder"))


@pytest.fixture(scope="module", autouse=True)
def without_retries() -> None:
    """The client's own setting: else each refusal takes it sixteen seconds."""
    deepl.http_client.max_network_retries = 0


@pytest.fixture
def deepl_client(place: Place) -> "deepl.DeepLClient":
    return deepl.DeepLClient(place.key, server_url=place.url)


def expected(place: Place) -> list[str]:
    return [translation.text for translation in place.translator.translate(TEXTS)]


def test_deepl_translates(place: Place, deepl_client: "deepl.DeepLClient") -> None:
    found = deepl_client.translate_text(TEXTS, source_lang="EN", target_lang="DE")
    assert [each.text for each in found] == expected(place)
    assert [each.billed_characters for each in found] == [len(text) for text in TEXTS]
    assert found[0].detected_source_lang == "EN"
    one = deepl_client.translate_text(TEXTS[0], target_lang="DE", formality="prefer_less", context="x")
    assert one.text == expected(place)[0]


def test_deepl_lists_languages_and_usage(deepl_client: "deepl.DeepLClient") -> None:
    assert [each.code for each in deepl_client.get_source_languages()] == ["EN"]
    assert [each.code for each in deepl_client.get_target_languages()] == ["DE"]
    deepl_client.translate_text("a cat", target_lang="DE")
    usage = deepl_client.get_usage()
    assert usage.character.count >= 5
    assert not usage.any_limit_reached


def test_deepl_translates_documents(place: Place, deepl_client: "deepl.DeepLClient", tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("\n".join(TEXTS) + "\n")
    status = deepl_client.translate_document_from_filepath(tmp_path / "in.txt", tmp_path / "out.txt", target_lang="DE")
    assert status.billed_characters == sum(map(len, TEXTS)) + 2
    assert (tmp_path / "out.txt").read_text().splitlines() == expected(place)
    out = io.BytesIO()
    deepl_client.translate_document(io.BytesIO(b"a cat runs"), out, target_lang="DE", filename="x.txt")
    assert out.getvalue().decode() == expected(place)[1]


def test_deepl_has_errors_it_understands(place: Place, deepl_client: "deepl.DeepLClient", tmp_path: Path) -> None:
    wrong = deepl.DeepLClient("wrong", server_url=place.url)
    with pytest.raises(deepl.AuthorizationException):
        wrong.get_usage()
    with pytest.raises(deepl.DeepLException, match="FR is not supported"):
        deepl_client.translate_text("a", target_lang="FR")
    with pytest.raises(deepl.DeepLException, match="exceeds text limit"):
        deepl_client.translate_text("a" * 5001, target_lang="DE")
    with pytest.raises(deepl.DeepLException, match="formality"):
        deepl_client.translate_text("a", target_lang="DE", formality="more")
    with pytest.raises(deepl.DeepLException, match="not supported"):
        deepl_client.translate_document_upload(b"a", target_lang="DE", filename="x.pdf")
    with pytest.raises(deepl.GlossaryNotFoundException):
        deepl_client.get_glossary("no-such-glossary")


def test_libretranslatepy(place: Place) -> None:
    from libretranslatepy import LibreTranslateAPI

    client = LibreTranslateAPI(place.url, api_key=place.key)
    assert client.translate(TEXTS[0], "en", "de") == expected(place)[0]
    assert client.languages() == [{"code": "en", "name": "English", "targets": ["de"]}]
    assert client.detect("a cat")[0]["language"] == "en"
    with pytest.raises(urllib.error.HTTPError, match="403"):
        LibreTranslateAPI(place.url, api_key="wrong").translate("a", "en", "de")
    with pytest.raises(urllib.error.HTTPError, match="400"):
        client.translate("a", "en", "zz")


def test_deep_translator(place: Place) -> None:
    from deep_translator import LibreTranslator

    client = LibreTranslator(source="en", target="de", api_key=place.key, custom_url=f"{place.url}/")
    assert [client.translate(text) for text in TEXTS] == expected(place)


def test_openai(place: Place) -> None:
    import openai

    client = openai.OpenAI(api_key=place.key, base_url=f"{place.url}/v1", max_retries=0)
    assert [model.id for model in client.models.list()] == ["tiny:en-de"]
    messages = [{"role": "user", "content": TEXTS[0]}]
    answer = client.chat.completions.create(model="tiny:en-de", messages=messages)
    assert answer.choices[0].message.content == expected(place)[0]
    stream = client.chat.completions.create(model="tiny:en-de", messages=messages, stream=True)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
    assert text == expected(place)[0]
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.create(model="gpt-4", messages=messages)
    with pytest.raises(openai.AuthenticationError):
        openai.OpenAI(api_key="wrong", base_url=f"{place.url}/v1", max_retries=0).models.list()


PROGRAM = """
const deepl = require('deepl-node');
const [url, key, ...texts] = process.argv.slice(1);
(async () => {
  const client = new deepl.DeepLClient(key, { serverUrl: url, maxRetries: 0 });
  const found = await client.translateText(texts, null, 'de');
  const usage = await client.getUsage();
  const languages = await client.getTargetLanguages();
  let refused = '';
  try { await new deepl.DeepLClient('wrong', { serverUrl: url, maxRetries: 0 }).getUsage(); }
  catch (error) { refused = error.constructor.name; }
  console.log(JSON.stringify({ texts: found.map(each => each.text), source: found[0].detectedSourceLang,
    count: usage.character.count, languages: languages.map(each => each.code), refused }));
})();
"""


@pytest.mark.skipif(not (NODE / "node_modules" / "deepl-node").is_dir(), reason="no deepl-node: npm has not given it")
def test_deepl_for_node(place: Place) -> None:
    """A client in another language."""
    node = shutil.which("node")
    assert node is not None
    command = [node, "-e", PROGRAM, place.url, place.key, *TEXTS]
    ended = subprocess.run(command, cwd=NODE, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert found["texts"] == expected(place)
    assert (found["source"], found["languages"], found["refused"]) == ("en", ["de"], "AuthorizationError")
    assert found["count"] > 0
