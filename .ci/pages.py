"""What `make docs` does with pages: README, CONTRIBUTING and CHANGELOG join `docs/`, and other links become text.

The repository has no address of its own, so a link to a file outside of `docs/` becomes the name of the file.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "CONTRIBUTING.md", "CHANGELOG.md": "CHANGELOG.md"}
"""Pages outside of `docs/`, by their names in the site."""
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages of the root folder, with their links as seen from `docs/`."""
    for name, shown in PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, shown, content=LINK.sub(lambda link: _moved(link, "", files), text)))
    return files


def on_page_markdown(markdown: str, page: Any, files: Files, **_: Any) -> str:
    """Turn links to files that the site does not have into text."""
    return markdown if page.file.generated_by else LINK.sub(lambda link: _moved(link, "docs", files), markdown)


def _moved(link: re.Match[str], folder: str, files: Files) -> str:
    """The link as it is in the site, from a page of this folder of the repository."""
    mark, text, target, anchor = link.groups()
    path = posixpath.normpath(posixpath.join(folder, target))
    place = PAGES.get(path, path.removeprefix("docs/"))
    if place in PAGES.values() or (path.startswith("docs/") and (ROOT / path).is_file()):
        return f"{mark}[{text}]({place}{anchor or ''})"
    if (ROOT / path).exists():
        return text if f"`{path}`" == text else f"{text} (`{path}`)"
    return link[0]
