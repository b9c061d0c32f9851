"""Chat completions: what `openai` and those who imitate it send and expect."""

import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest

from limelight.pipelines.translator import Translator
from tests.serving.helpers import Running, running, table, translator, wait_until

ONE, TWO = translator(table(1)), translator(table(2), "en", "pt")


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    with running({"one": ONE, "two": TWO}) as started:
        yield started


def completion(service: Running, text: Any = "dab", model: str = "one:en-de", **more: Any) -> Any:
    messages = [{"role": "system", "content": "Translate."}, {"role": "user", "content": text}]
    return service.post("/v1/chat/completions", {"model": model, "messages": messages, **more})


def events(service: Running, path: str, body: dict) -> Iterator[tuple[str, str]]:
    """The name and the data of each event."""
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=600)
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    assert response.status == 200
    assert response.getheader("content-type", "").startswith("text/event-stream")
    for block in response.read().decode().strip().split("\n\n"):
        *name, data = block.split("\n")
        yield (name[0].removeprefix("event: ") if name else ""), data.removeprefix("data: ")
    connection.close()


def parts(one: Translator, *sentences: str) -> list[str]:
    return [one.translate(sentence).text for sentence in sentences]


def test_the_last_message_of_the_user_is_translated(service: Running) -> None:
    answer = completion(service, temperature=0.7, max_tokens=5, stop=["x"]).value
    (choice,) = answer["choices"]
    assert choice["message"] == {"role": "assistant", "content": ONE.translate("dab").text}
    assert (answer["object"], choice["finish_reason"]) == ("chat.completion", "stop")
    assert answer["usage"]["total_tokens"] == answer["usage"]["prompt_tokens"] + answer["usage"]["completion_tokens"]
    in_parts = completion(service, [{"type": "text", "text": text} for text in ("d", None, "ab")])
    assert in_parts.value["choices"] == answer["choices"]


def test_the_model_says_the_direction(service: Running) -> None:
    names = [model["id"] for model in service.get("/v1/models").value["data"]]
    assert names == ["one:en-de", "two:en-pt"]
    for name, one in (("one", ONE), ("two", TWO), ("en-pt", TWO), ("two:en-pt", TWO)):
        (choice,) = completion(service, model=name).value["choices"]
        assert choice["message"]["content"] == one.translate("dab").text
    for name, status in (("gpt-4", 404), ("one:xx-de", 400), ("three:en-de", 404), ("", 400)):
        answer = completion(service, model=name)
        assert answer.status == status
        assert isinstance(answer.value["error"]["message"], str)


def test_a_stream_has_the_same_text_in_pieces(service: Running) -> None:
    body = {"model": "one", "messages": [{"role": "user", "content": "Dab. Face! Cab?"}], "stream": True}
    found = list(events(service, "/v1/chat/completions", {**body, "stream_options": {"include_usage": True}}))
    assert found[-1] == ("", "[DONE]")
    chunks = [json.loads(data) for _, data in found[:-1]]
    *chunks, usage = chunks
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert deltas[0] == {"role": "assistant", "content": ""}
    assert "".join(delta.get("content", "") for delta in deltas) == " ".join(parts(ONE, "Dab.", "Face!", "Cab?"))
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
    assert usage["choices"] == []
    assert usage["usage"]["completion_tokens"] > 0
    assert {chunk["id"] for chunk in chunks} == {usage["id"]}


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "assistant", "content": "a"}]}, "role user"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages"),
        ({"n": 2}, "n: input should be 1"),
        ({"model": 7}, "model"),
        ({"messages": [7]}, "messages[0]: input should be an object"),
        ({"stream_options": 7}, "stream_options: input should be a"),
    ],
)
def test_errors_are_those_that_the_client_reads(service: Running, changed: dict, says: str) -> None:
    body = {"model": "one", "messages": [{"role": "user", "content": "dab"}], **changed}
    answer = service.post("/v1/chat/completions", body)
    assert answer.status == 400
    assert says in answer.value["error"]["message"]
    assert answer.value["error"]["type"] == "invalid_request_error"


def test_earlier_messages_may_have_anything_and_empty_fields_be_null(service: Running) -> None:
    """Chat front ends send images of earlier messages again; clients of typed languages send every field."""
    image = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}
    refused = {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}
    last = {"role": "user", "content": "dab"}
    body = {"model": "one", "messages": [image, refused, last], "n": None, "stream": None, "stop": None}
    plain = service.post("/v1/chat/completions", {"model": "one", "messages": [last]}).value
    content = json.dumps(body).encode()  # the document describes what is sent, and not every empty field
    answer = service.send("POST", "/v1/chat/completions", content, {"Content-Type": "application/json"})
    assert answer.value["choices"] == plain["choices"]


# ---- our own stream


def test_own_stream_shows_sentences_when_they_are_finished() -> None:
    with running({"one": translator(table(11))}) as service:
        body = {"text": ["Dab. Face!", "fee"], "stream": True}
        found = [(name, json.loads(data)) for name, data in events(service, "/api/v1/translate", body)]
        *partial, (last, answer) = found
        assert (last, {name for name, _ in partial}) == ("done", {"partial"})
        plain = service.post("/api/v1/translate", {**body, "stream": False}).value
        assert answer == plain
        for number, translation in enumerate(plain["translations"]):
            shown = [each["translation"] for _, each in partial if each["text"] == number]
            assert shown[-1] == translation["text"]
            assert all(translation["text"].startswith(each) for each in shown)


def test_a_refusal_before_the_first_word_is_an_ordinary_answer(service: Running) -> None:
    answer = service.post("/api/v1/translate", {"text": "dab", "model": "no", "stream": True})
    assert (answer.status, answer.value["error"]["code"]) == (404, "model_not_found")


def test_who_leaves_a_stream_stops_the_computation() -> None:
    model = table(5)
    with running({"one": translator(model)}) as service:
        model.pause = 0.01
        connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=600)
        body = {"text": "Dab. " * 400, "stream": True}
        connection.request("POST", "/api/v1/translate", json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        assert response.read(10) == b"event: par"
        connection.sock.shutdown(2)
        connection.close()
        response.close()
        wait_until(lambda: service.counts()["canceled"] == 1)
        wait_until(lambda: service.service.catalog.models[0].pool.decoding == 0)
        assert service.counts()["accepted"] == 0


# ---- prompts, see test_prompts.py


def says(service: Running, system: str, text: str, **more: Any) -> str:
    """The answer to two messages; a refusal's message."""
    messages = [{"role": "system", "content": system}, {"role": "user", "content": text}]
    answer = service.post("/v1/chat/completions", {"model": "one", "messages": messages, **more}).value
    return answer["error"]["message"] if "error" in answer else answer["choices"][0]["message"]["content"]


def test_a_prompt_is_obeyed_or_refused(service: Running) -> None:
    assert says(service, "", "Translate to German: dab") == ONE.translate("dab").text
    assert says(service, "Translate into German.", "dab", model="one:en-de") == ONE.translate("dab").text
    assert "into fr, and the model one:en-de" in says(service, "Translate to French.", "dab", model="one:en-de")
    assert "from fr into de" in says(service, "Translate from French.", "dab", model="one:en-de")
    assert "fr is not supported" in says(service, "Translate to French.", "dab")


def test_the_prompt_names_the_language_for_a_model_of_several() -> None:
    with running({"one": ONE, "two": TWO, "b:r": translator(table(2), "en", "pt-BR")}) as service:
        answer = says(service, "Translate to Portuguese.", "dab", model="two")
        of_region = [says(service, "Translate.", "dab", model=name) for name in ("b:r:en-pt-BR", "b:r")]
    assert [answer, *of_region] == [TWO.translate("dab").text] * 3


def test_arrays_and_separators_keep_their_number(service: Running) -> None:
    one, two = (ONE.translate(text).text for text in ("dab", "face"))
    assert json.loads(says(service, "", '["dab", "", "face"]')) == [one, "", two]
    assert json.loads(says(service, "", '{"a": "dab", "b": "face"}')) == {"a": one, "b": two}
    assert json.loads(says(service, "", '{"a": {"b": "dab"}, "c": ["face", 7]}')) == {"a": {"b": one}, "c": [two, 7]}
    assert says(service, "", "dab\n==WEBLATE_PART==\nface") == f"{one}\n==WEBLATE_PART==\n{two}"
    body = {"model": "one", "messages": [{"role": "user", "content": '["dab", "face"]'}], "stream": True}
    deltas = [
        json.loads(data)["choices"][0]["delta"] for _, data in list(events(service, "/v1/chat/completions", body))[:-1]
    ]
    assert json.loads("".join(delta.get("content", "") for delta in deltas)) == [one, two]


def schema_of(**properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {"type": "json_schema", "json_schema": {"name": "Answer", "strict": True, "schema": schema}}


TEXT_FIELD = {"type": "string", "description": "The translated text"}


def test_structured_answers_are_json(service: Running) -> None:
    one = ONE.translate("dab").text
    nextcloud = "Translate the following text from English to German: \n\ndab"
    form = schema_of(translation=TEXT_FIELD)
    assert json.loads(says(service, "ONLY outputs a valid JSON", nextcloud, response_format=form)) == {
        "translation": one
    }
    assert json.loads(says(service, "", "dab", response_format={"type": "json_object"})) == {"translation": one}
    assert says(service, "", "dab", response_format={"type": "text"}) == one


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools"),
        ({"functions": [{"name": "f"}]}, "functions"),
        ({"logprobs": True}, "logprobs"),
        ({"response_format": {"type": "grammar"}}, "response_format"),
        ({"response_format": schema_of(a=TEXT_FIELD, b=TEXT_FIELD)}, "with one string"),
        ({"response_format": schema_of(a={"type": "string", "enum": ["x"]})}, "with one string"),
        ({"response_format": {"type": "json_schema", "json_schema": 7}}, "response_format"),
    ],
)
def test_what_cannot_be_honored_is_refused_by_name(service: Running, changed: dict, named: str) -> None:
    answer = completion(service, **changed)
    assert answer.status == 400
    assert named in answer.value["error"]["message"]
