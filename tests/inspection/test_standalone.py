import base64
import hashlib
import html
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from limelight.errors import UserError
from limelight.inspection import standalone
from limelight.inspection.page_data import page_document
from limelight.inspection.standalone import (
    EXPORT,
    IMPORT,
    SERVED,
    joined_modules,
    map_page,
    notebook_frame,
    page_file,
)
from tests.inspection.fakes import random_map

PAGE = Path(standalone.__file__).parents[1] / "page"
MODULES = sorted(path.stem for path in PAGE.glob("*.js"))
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&amp;\u2028"


class Parsed(HTMLParser):
    """Every element with its attributes, and what scripts and styles hold."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.inside: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.found[-1:] and self.found[-1][0] in ("script", "style") and data.strip():
            self.inside.append(data)


def test_the_policy_names_the_one_script_and_the_one_style(seed):
    parsed = Parsed(map_page(random_map(seed)))
    policy = next(given["content"] for tag, given in parsed.found if given.get("http-equiv"))
    style, data, script = parsed.inside
    for name, text in (("style", style), ("script", script)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert json.loads(data)["sides"] == page_document(random_map(seed), every_head=True)["sides"]


def test_nothing_is_loaded_from_anywhere(seed):
    page = map_page(random_map(seed))
    for tag, given in Parsed(page).found:
        assert not {"src", "href", "srcset", "style", "onclick"} & set(given), tag
    assert set(re.findall(r"https?://[\w./]+", page)) == {"http://www.w3.org/2000/svg"}


def test_what_a_user_wrote_is_never_markup(seed):
    seen = replace(random_map(seed), source_text=HOSTILE, target_text=HOSTILE, model=HOSTILE)
    plain, hostile = Parsed(map_page(random_map(seed))), Parsed(map_page(seen))
    assert [tag for tag, _ in hostile.found] == [tag for tag, _ in plain.found]
    assert json.loads(hostile.inside[1])["model"] == HOSTILE
    (frame,) = Parsed(notebook_frame(seen)).found
    assert frame[0] == "iframe"
    assert frame[1]["srcdoc"] == map_page(seen)


def test_every_module_is_joined_once_and_nothing_is_left_to_load():
    script = joined_modules("main")
    assert not re.search(r"^\s*(import|export)\b", script, flags=re.MULTILINE)
    for left, right in ("{}", "[]"):  # nothing is lost with the comments
        assert script.count(left) == script.count(right)
    for name in MODULES:
        assert script.count(f"const module_{name} = (() => {{") == (name not in SERVED), name
    for name in MODULES:
        text = page_file(f"{name}.js")
        assert len(IMPORT.findall(text)) == len(re.findall(r"^import\b", text, flags=re.MULTILINE)), name
        assert len(EXPORT.findall(text)) == len(re.findall(r"^export\b", text, flags=re.MULTILINE)), name


def test_modules_make_no_markup_of_text():
    """Text enters as text nodes alone, and no module reaches into the network but the one that asks the server."""
    for name in MODULES:
        text = page_file(f"{name}.js")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text), (
            name
        )
        if name != "server":
            assert not re.search(r"\bfetch\(|XMLHttpRequest|WebSocket|EventSource", text), name


def test_a_map_writes_and_shows_itself(seed, tmp_path):
    seen = random_map(seed)
    seen.to_html(tmp_path / "map.html", theme="light")
    assert (tmp_path / "map.html").read_text(encoding="utf-8") == map_page(seen, theme="light")
    assert html.escape(map_page(seen)) in seen._repr_html_()
    with pytest.raises(UserError, match="unknown theme 'blue'; themes are dark, light"):
        seen.to_html(tmp_path / "b.html", theme="blue")
    with pytest.raises(UserError, match="cannot be written"):
        seen.to_html(tmp_path / "nowhere" / "map.html")
