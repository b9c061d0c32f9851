"""The clients that people have, as they come from the registries: nothing of them is changed."""

import io
import json
import os
import re
import shutil
import subprocess
import urllib.error
import urllib.request
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
    assert status.billed_characters == sum(map(len, TEXTS))
    assert (tmp_path / "out.txt").read_text().splitlines() == expected(place)
    out = io.BytesIO()
    deepl_client.translate_document(b"a cat runs", out, target_lang="DE", filename="x.txt")
    assert out.getvalue().decode() == expected(place)[1]


def test_deepl_translates_tags(deepl_client: "deepl.DeepLClient") -> None:
    text = '<p>the dog <x id="1">sees it</x> now</p>'
    found = deepl_client.translate_text(
        text, target_lang="DE", tag_handling="xml", ignore_tags=["x"], outline_detection=False, split_sentences="0"
    )
    assert sorted(re.findall("<[^>]*>", found.text)) == sorted(re.findall("<[^>]*>", text))
    assert '<x id="1">sees it</x>' in found.text
    page = deepl_client.translate_text("<p>a <i>cat</i> runs<br>a dog</p>", target_lang="DE", tag_handling="html")
    assert sorted(re.findall("<[^>]*>", page.text)) == sorted(["<p>", "<i>", "</i>", "<br>", "</p>"])
    with pytest.raises(deepl.DeepLException, match="well-formed"):
        deepl_client.translate_text("<p>a", target_lang="DE", tag_handling="xml")


def test_deepl_has_glossaries(deepl_client: "deepl.DeepLClient") -> None:
    glossary = deepl_client.create_glossary("pets", "EN", "DE", {"cat": "Kater"})
    assert (glossary.entry_count, glossary.ready) == (1, True)
    assert glossary.glossary_id in [each.glossary_id for each in deepl_client.list_glossaries()]
    assert deepl_client.get_glossary(glossary.glossary_id).name == "pets"
    assert deepl_client.get_glossary_entries(glossary) == {"cat": "Kater"}
    assert [(each.source_lang, each.target_lang) for each in deepl_client.get_glossary_languages()] == [("en", "de")]
    found = deepl_client.translate_text("a cat runs", source_lang="EN", target_lang="DE", glossary=glossary)
    assert "Kater" in found.text
    out = io.BytesIO()
    deepl_client.translate_document(
        b"a cat runs", out, source_lang="EN", target_lang="DE", filename="a.txt", glossary=glossary
    )
    assert "Kater" in out.getvalue().decode()
    deepl_client.delete_glossary(glossary)
    with pytest.raises(deepl.GlossaryNotFoundException):
        deepl_client.get_glossary(glossary.glossary_id)


def test_deepl_has_errors_it_understands(place: Place, deepl_client: "deepl.DeepLClient") -> None:
    wrong = deepl.DeepLClient("wrong", server_url=place.url)
    with pytest.raises(deepl.AuthorizationException):
        wrong.get_usage()
    with pytest.raises(deepl.DeepLException, match="FR is not supported"):
        deepl_client.translate_text("a", target_lang="FR")
    with pytest.raises(deepl.DeepLException, match="--max-characters"):
        deepl_client.translate_text("a" * 5001, target_lang="DE")
    with pytest.raises(deepl.DeepLException, match="formality"):
        deepl_client.translate_text("a", target_lang="DE", formality="more")
    with pytest.raises(deepl.DeepLException, match="not supported"):
        deepl_client.translate_document_upload(b"a", target_lang="DE", filename="x.pdf")
    with pytest.raises(deepl.DeepLException, match="not supported"):
        deepl_client.translate_document_upload(io.BytesIO(b"%PDF-1.7 x"), target_lang="DE", filename="x")
    with pytest.raises(deepl.GlossaryNotFoundException):
        deepl_client.get_glossary("no-such-glossary")


def test_libretranslatepy(place: Place) -> None:
    from libretranslatepy import LibreTranslateAPI

    client = LibreTranslateAPI(place.url, api_key=place.key)
    assert client.translate(TEXTS[0], "en", "de") == expected(place)[0]
    assert client.languages() == [
        {"code": "en", "name": "English", "targets": ["de"]},
        {"code": "de", "name": "German", "targets": []},
    ]
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
    assert client.models.retrieve("tiny").id == "tiny"
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.create(model="gpt-4", messages=messages)
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]
    with pytest.raises(openai.BadRequestError, match="tools"):
        client.chat.completions.create(model="tiny", messages=messages, tools=tools)
    with pytest.raises(openai.AuthenticationError):
        openai.OpenAI(api_key="wrong", base_url=f"{place.url}/v1", max_retries=0).models.list()


def test_langchain(place: Place) -> None:
    langchain = pytest.importorskip("langchain_openai", reason="make test-clients installs the clients")
    from langchain_core.prompts import ChatPromptTemplate
    from pydantic import BaseModel

    class Translated(BaseModel):
        translation: str

    chat = langchain.ChatOpenAI(model="tiny", base_url=f"{place.url}/v1", api_key=place.key, max_retries=0)
    system = "You are a helpful assistant that translates {input_language} to {output_language}."
    prompt = ChatPromptTemplate.from_messages([("system", system), ("human", "{input}")])
    given = {"input_language": "English", "output_language": "German", "input": TEXTS[0]}
    (text, *_) = expected(place)
    assert (prompt | chat).invoke(given).content == text
    assert "".join(chunk.content for chunk in (prompt | chat).stream(given)) == text
    assert (prompt | chat.with_structured_output(Translated)).invoke(given) == Translated(translation=text)


OPENAI_PROGRAM = """
const OpenAI = require('openai');
const [url, key, text] = process.argv.slice(1);
(async () => {
  const client = new OpenAI({ apiKey: key, baseURL: url + '/v1', maxRetries: 0 });
  const messages = [{ role: 'system', content: 'Translate to German.' }, { role: 'user', content: text }];
  const answer = await client.chat.completions.create({ model: 'tiny', messages, n: null, stop: null });
  let streamed = '';
  for await (const chunk of await client.chat.completions.create({ model: 'tiny', messages, stream: true }))
    streamed += chunk.choices[0].delta.content || '';
  const models = [];
  for await (const model of client.models.list()) models.push(model.id);
  let refused = '';
  try { await client.chat.completions.create({ model: 'gpt-4o', messages }); }
  catch (error) { refused = error.constructor.name; }
  console.log(JSON.stringify({ text: answer.choices[0].message.content, streamed, models, refused }));
})();
"""


@pytest.mark.skipif(not (NODE / "node_modules" / "openai").is_dir(), reason="no openai for Node: npm has not given it")
def test_openai_for_node(place: Place) -> None:
    node = shutil.which("node")
    assert node is not None
    command = [node, "-e", OPENAI_PROGRAM, place.url, place.key, TEXTS[0]]
    ended = subprocess.run(command, cwd=NODE, capture_output=True, text=True, timeout=600, check=False)
    assert ended.returncode == 0, ended.stderr
    text = expected(place)[0]
    found = {"text": text, "streamed": text, "models": ["tiny:en-de"], "refused": "NotFoundError"}
    assert json.loads(ended.stdout) == found


PROGRAM = """
const deepl = require('deepl-node');
const fs = require('fs');
const [url, key, ...texts] = process.argv.slice(1);
(async () => {
  const client = new deepl.DeepLClient(key, { serverUrl: url, maxRetries: 0 });
  const found = await client.translateText(texts, null, 'de');
  const usage = await client.getUsage();
  const languages = await client.getTargetLanguages();
  const sources = await client.getSourceLanguages();
  const out = 'out-' + process.pid + '.txt';
  await client.translateDocument(Buffer.from(texts[1]), out, null, 'de', { filename: 'a.txt' });
  await client.translateDocument(Buffer.from('%PDF-1.7'), 'no.pdf', null, 'de', { filename: 'a.pdf' })
    .then(() => console.error('a PDF was taken'), () => {});
  const document = fs.readFileSync(out, 'utf8');
  fs.unlinkSync(out);
  const terms = new deepl.GlossaryEntries({ entries: { cat: 'Kater' } });
  const glossary = await client.createGlossary('pets', 'en', 'de', terms);
  const withGlossary = await client.translateText(texts[1], 'en', 'de', { glossary });
  const entries = await client.getGlossaryEntries(glossary);
  await client.deleteGlossary(glossary);
  let gone = '', unknown = '';
  try { await client.getGlossary(glossary.glossaryId); } catch (error) { gone = error.constructor.name; }
  try { await client.translateText('a', null, 'fr'); } catch (error) { unknown = error.message; }
  let refused = '';
  try { await new deepl.DeepLClient('wrong', { serverUrl: url, maxRetries: 0 }).getUsage(); }
  catch (error) { refused = error.constructor.name; }
  console.log(JSON.stringify({ texts: found.map(each => each.text), source: found[0].detectedSourceLang,
    count: usage.character.count, languages: languages.map(each => each.code), refused,
    sources: sources.map(each => each.code), document, withGlossary: withGlossary.text, entries: entries.toTsv(),
    gone, unknown }));
})();
"""


@pytest.mark.skipif(not (NODE / "node_modules" / "deepl-node").is_dir(), reason="no deepl-node: npm has not given it")
def test_deepl_for_node(place: Place) -> None:
    """A client in another language."""
    node = shutil.which("node")
    assert node is not None
    command = [node, "-e", PROGRAM, place.url, place.key, *TEXTS]
    ended = subprocess.run(command, cwd=NODE, capture_output=True, text=True, timeout=600, check=False)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert found["texts"] == expected(place)
    assert (found["source"], found["languages"], found["refused"]) == ("en", ["de"], "AuthorizationError")
    assert found["count"] > 0
    assert (found["sources"], found["document"]) == (["en"], expected(place)[1])
    assert "Kater" in found["withGlossary"]
    assert found["entries"] == "cat\tKater"
    assert "a PDF was taken" not in ended.stderr
    assert found["gone"] == "GlossaryNotFoundError"
    assert "fr is not supported" in found["unknown"]
