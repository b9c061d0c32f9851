"""One HTML file that works without a server: the page's modules and its data in a single script.

Browsers do not load modules from local files, so modules become functions of one script: `export` lines become return
values, `import` lines take values of other functions. The content security policy permits only this script, by its
hash, and no connections.
"""

import base64
import hashlib
import html
import json
import re
from importlib.resources import files
from typing import Any

import numpy as np

from limelight.errors import UserError
from limelight.inspection.page_data import JsonObject, packed, page_document

IMPORT = re.compile(r'^import \{ ([\w, ]+) \} from "\./([\w-]+)\.js";$', re.MULTILINE)
EXPORT = re.compile(r"^export ((?:async )?function|const|class) (\w+)", re.MULTILINE)

COMMENT = re.compile(r"^/\*\*(?:.|\n)*?\*/\n|^ *//[^\n]*\n|(?<=[,;{]) //[^\n]*$|^ +", re.MULTILINE)
"""Comments and indentation of modules and style sheet, a third of them. No string of them spans two lines."""

SERVED = ("translate", "asking", "similar")
"""Modules that only a served page uses, each imported by `main` alone or by another of them."""

DECIMALS = 5
INT16 = 32767

THEMES = ("dark", "light")

HEIGHT = 780
"""Height of the frame in a notebook, in pixels."""


def require_theme(theme: str) -> None:
    """Raise `UserError` for an unknown theme."""
    if theme not in THEMES:
        raise UserError(f"unknown theme {theme!r}; themes are {', '.join(THEMES)}")


def standalone_page(document: JsonObject, *, theme: str = "dark") -> str:
    """The page with this document (see `page_document`) as one HTML text. `theme` is `dark` or `light`."""
    style, script = COMMENT.sub("", page_file("page.css")), joined_modules("main")
    data = json.dumps(_compact(document), ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    policy = (
        f"default-src 'none'; script-src {_source(script)}; style-src {_source(style)}; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        f'<!doctype html>\n<html lang="en" data-theme="{html.escape(theme)}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(_title(document))}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f'<div id="page"></div>\n<script type="application/json" id="document">{data}</script>\n'
        f'<script type="module">{script}</script>\n</body>\n</html>\n'
    )


def map_page(attention: Any, *, theme: str = "dark") -> str:
    """The page of one map, with the weights of every head."""
    return standalone_page(page_document(attention, every_head=True), theme=theme)


def notebook_frame(attention: Any) -> str:
    """The page in a sandboxed frame, for notebooks: its script cannot access anything outside."""
    inner = html.escape(map_page(attention))
    return (
        f'<iframe srcdoc="{inner}" sandbox="allow-scripts allow-downloads" title="Attention" width="100%" '
        f'height="{HEIGHT}" style="border: 0; border-radius: 8px" loading="lazy"></iframe>'
    )


def page_file(name: str) -> str:
    """The text of one of the page's files."""
    return (files("limelight.page") / name).read_text(encoding="utf-8")


def joined_modules(name: str) -> str:
    """A module and all its imports as one script; each module is a function that runs once."""
    order: list[str] = []
    _visit(name, order)
    return "\n".join(_as_function(module) for module in order)


def _visit(name: str, order: list[str]) -> None:
    for _, other in IMPORT.findall(page_file(f"{name}.js")):
        if other not in (*order, *SERVED):
            _visit(other, order)
    order.append(name)


def _compact(value: Any) -> Any:
    """The same document in half the characters: arrays as 16-bit shares of their largest number, and five decimals."""
    if isinstance(value, float):
        return round(value, DECIMALS)
    if isinstance(value, list):
        return [_compact(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("dtype") != "float32":
        return {name: _compact(item) for name, item in value.items()}
    numbers = np.frombuffer(base64.b64decode(value["data"]), dtype="<f4")
    largest = float(np.abs(numbers).max(initial=0)) or 1.0
    rounded = np.rint(numbers.astype(np.float64) / largest * INT16).reshape(value["shape"])
    return packed(rounded, "int16") | {"scale": largest / INT16}


def _as_function(name: str) -> str:
    text = COMMENT.sub("", page_file(f"{name}.js"))
    exported = [match[1] for match in EXPORT.findall(text)]
    of = dict.fromkeys(SERVED, "{}")
    body = IMPORT.sub(lambda match: f"const {{ {match[1]} }} = {of.get(match[2], _variable(match[2]))};", text)
    body = EXPORT.sub(r"\1 \2", body).replace("</", "<\\/")
    return f"const {_variable(name)} = (() => {{\n{body}\nreturn {{ {', '.join(exported)} }};\n}})();"


def _variable(name: str) -> str:
    return f"module_{name.replace('-', '_')}"


def _source(text: str) -> str:
    """The hash source of an inline script or style in a content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _title(document: JsonObject) -> str:
    sides = document["sides"]
    sentence = sides["source"]["text"] or sides["target"]["text"]
    return f"{sentence} · Limelight" if sentence else "Limelight"
