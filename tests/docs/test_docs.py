"""What the pages say exists: commands, names, files, links, settings, excerpts; and their Python runs.

Every rule is a function from a page's text to complaints.
"""

import ast
import importlib
import pkgutil
import re
import shlex
import textwrap
from collections.abc import Iterator
from dataclasses import fields
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

import pytest
import typer

from limelight import Generated, Translation, config
from limelight.cli.app import COMMANDS as NAMES
from limelight.cli.app import app, parser_of
from limelight.config import DecodingConfig, RunConfig, TransformerConfig
from limelight.config.models import FAMILIES
from limelight.models.families import build_model
from limelight.recipes import RECIPES
from limelight.storage.layout import CARD, bundled_models
from limelight.storage.model import save_model
from limelight.tokens import Tokenizers, train_tokenizer
from limelight.tokens.text import RESERVED
from limelight.training.run import MAY_CHANGE

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "limelight"
PAGES = ["README.md", "CONTRIBUTING.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
APPLICATION = typer.main.get_command(app)
COMMANDS = {name: parser_of(name) for name in NAMES}
SECTIONS = [
    *(config.RunConfig, config.DataConfig, config.Corpus, config.TokensConfig, config.AugmentationConfig),
    *(config.BatchingConfig, config.TrainingConfig, config.DecodingConfig),
]


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def without_blocks(text: str) -> str:
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


# ---- commands


def commands(text: str) -> Iterator[list[str]]:
    """The words of each command line in a shell block or an indented one, up to a pipe or redirection."""
    indented = re.findall(r"^    (limelight .*)$", without_blocks(text), flags=re.MULTILINE)
    for line in [*"\n".join(blocks(text, "sh")).replace("\\\n", " ").splitlines(), *indented]:
        for part in re.split(r"\s[|<>]\s", line):
            if part.startswith("limelight "):
                words = shlex.split(part)[1:]
                yield words[2:] if words[0] == "--plugin" else words


def command_faults(text: str) -> list[str]:
    """Command lines that the command line itself would not take."""
    complaints = []
    for command, *words in commands(text):
        if command not in COMMANDS:
            complaints.append(f"limelight {command}: there is no such command")
            continue
        try:
            COMMANDS[command].make_context(command, words)
        except Exception as error:
            complaints.append(f"limelight {command} {shlex.join(words)}: {error}")
    return complaints


def mentioned_faults(text: str) -> list[str]:
    """Options in running text that their command, or where none is named, every command, does not have."""
    complaints = []
    everything = (APPLICATION, *COMMANDS.values())
    known = {option for command in everything for parameter in command.params for option in _spellings(parameter)}
    for code in re.findall(r"`([^`\n]+)`", without_blocks(text)):
        words = code.split()
        command = COMMANDS.get(words[1]) if words[0] == "limelight" and len(words) > 1 else None
        own = known if command is None else {option for parameter in command.params for option in _spellings(parameter)}
        if words[0] == "limelight" or words[0].startswith("--"):
            options = [word for word in words if word.startswith("--")]
            complaints += [f"`{code}`: there is no {option}" for option in options if option not in own | {"--help"}]
    return complaints


def _spellings(parameter: Any) -> list[str]:
    return [*parameter.opts, *parameter.secondary_opts]


def test_a_wrong_command_is_found():
    text = "```sh\nlimelight trane --out x\necho a | limelight translate --beem 4 > b\nlimelight attention a b\n```\n"
    assert len(command_faults(text + "\n    limelight evaluate --model a\n")) == 4
    assert len(mentioned_faults("`limelight train --beam`, `--beem`, `--beam`")) == 2
    assert next(commands("```sh\nlimelight train --train a.en a.de > b\n```"))[-1] == "a.de"


@pytest.mark.parametrize("page", PAGES)
def test_every_command_line_would_be_taken(page):
    assert command_faults(read(page)) + mentioned_faults(read(page)) == []


# ---- Python


def import_faults(code: str) -> list[str]:
    """Names that a block imports and that are not there."""
    complaints = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                importlib.import_module(alias.name)
        elif isinstance(node, ast.ImportFrom):
            module = importlib.import_module(node.module or "")
            complaints += [f"{node.module}.{name.name}" for name in node.names if not hasattr(module, name.name)]
    return complaints


def programs(page: str) -> list[str]:
    """The Python blocks of a page that are not excerpts."""
    return [code for code in blocks(read(page), "python") if code not in dict(excerpts(read(page)))]


@pytest.mark.parametrize("page", PAGES)
def test_imports_on_the_pages_exist(page):
    assert [fault for code in programs(page) for fault in import_faults(code)] == []


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    """A folder with a random model and a text under the names that the pages use."""
    folder = tmp_path_factory.mktemp("workplace")
    texts = ["A dog runs on the grass.", "Two birds sing.", "Ein kleiner Hund rennt.", "Zwei Vögel singen."]
    texts += ["A cat runs. Eine Katze rennt."] * 2
    both = train_tokenizer(
        texts, kind="bpe", vocabulary_size=None, languages=["de"], byte_fallback=True, seed=1, sentences=len(texts)
    )
    sizes = TransformerConfig(encoder_layers=2, decoder_layers=2, d_model=8, heads=2, d_ff=12)
    data = config.DataConfig(train=[config.Corpus(files=("train.tsv",), source="en", target="de")])
    whole = RunConfig(data=data, model=sizes, decoding=DecodingConfig(max_length_factor=1, max_length_extra=3))
    tokenizers = Tokenizers(both, both)
    save_model(folder / "runs" / "en-de", build_model(sizes, tokenizers), tokenizers, whole, notes={}, card="")
    (folder / "input.txt").write_text("\n".join(texts), encoding="utf-8")
    for name, lines in {"test.en": texts[:2], "test.de": texts[2:4], "unseen.txt": texts[:1]}.items():
        (folder / name).write_text("\n".join(lines), encoding="utf-8")
    letters = train_tokenizer(
        texts, kind="characters", vocabulary_size=None, languages=(), byte_fallback=False, seed=1, sentences=4,
        reserved=RESERVED,
    )  # fmt: skip
    alone, spelled = config.DecoderOnlyConfig(layers=1, d_model=8, heads=2, d_ff=12), Tokenizers(letters, letters)
    writer = RunConfig(model=alone)
    save_model(folder / "runs" / "plays", build_model(alone, spelled), spelled, writer, notes={}, card="")
    return folder


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        *(
            f"docs/{name}.md"
            for name in ("attention", "evaluation", "generating", "inspection", "transformer", "translation")
        ),
    ],
)
def test_the_code_on_the_page_runs(page, workplace, monkeypatch):
    monkeypatch.chdir(workplace)
    names: dict[str, object] = {}
    for code in programs(page):
        exec(compile(code, page, "exec"), names)
    assert names


# ---- excerpts


def excerpts(text: str) -> list[tuple[str, str]]:
    """(code, file) of each Python block that follows a line naming the file it is from."""
    found = re.findall(
        r"^`((?:src|examples)/[\w/]+\.py)`\n\n```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE
    )
    return [(code, file) for file, code in found]


def excerpt_faults(text: str) -> list[str]:
    """Excerpts whose lines do not stand, one after another, in their file."""
    return [
        f"{file} does not have:\n{textwrap.indent(code, '    ')}"
        for code, file in excerpts(text)
        if f"\n{code}" not in f"\n{(ROOT / file).read_text(encoding='utf-8')}"
    ]


def test_the_excerpts_are_in_the_source():
    text = read("docs/attention.md") + read("docs/transformer.md")
    assert excerpt_faults(text) == []
    assert len(excerpts(text)) >= 25


# ---- files and links


def slug(heading: str) -> str:
    """The anchor that a heading gets, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def link_faults(page: str, text: str) -> list[str]:
    """Relative links to files or headings that do not exist, and addresses of any kind."""
    complaints = []
    for target in re.findall(r"\]\(([^)\s]+)\)", without_blocks(text)):
        name, _, anchor = target.partition("#")
        path = (ROOT / page).parent / name if name else ROOT / page
        if not path.exists():
            complaints.append(f"{target}: there is no such file")
        elif anchor:
            headings = re.findall(r"^#+ (.*)$", without_blocks(path.read_text(encoding="utf-8")), flags=re.MULTILINE)
            complaints += [] if anchor in map(slug, headings) else [f"{target}: there is no such heading"]
    return complaints


def file_faults(text: str) -> list[str]:
    """Files and lines named in running text that do not exist, under the repository or the package."""
    complaints = []
    for name, line in re.findall(r"`([\w.-]+/[\w./-]*?\.(?:py|md|sh|toml))(?::(\d+))?`", without_blocks(text)):
        found = [path for path in (ROOT / name, SOURCE / name) if path.is_file()]
        if not found:
            complaints.append(f"{name}: there is no such file")
        elif line and int(line) > len(found[0].read_text(encoding="utf-8").splitlines()):
            complaints.append(f"{name} has no line {line}")
    return complaints


def module_faults(text: str) -> list[str]:
    """Programs of the repository (`python -m benchmarks.x`) that do not exist."""
    names = sorted(set(re.findall(r"python -m\s+((?:benchmarks|tests)[\w.]*)", text)))
    paths = {name: ROOT / name.replace(".", "/") for name in names}
    return [name for name, path in paths.items() if not (path.with_suffix(".py").is_file() or path.is_dir())]


def test_a_broken_reference_is_found():
    text = "[a](docs/no.md) [b](docs/shapes.md#no-such) [c](docs/shapes.md#a-batch) `text/no.py` `text/pair.py:9999`"
    assert len(link_faults("README.md", text)) == 2
    assert len(file_faults(text)) == 2
    assert module_faults("`python -m benchmarks.memory`, `python -m\nbenchmarks.remember`") == ["benchmarks.remember"]


@pytest.mark.parametrize("page", PAGES)
def test_links_and_files_on_the_pages_exist(page):
    assert link_faults(page, read(page)) + file_faults(read(page)) + module_faults(read(page)) == []


# ---- the site


def reference_faults(text: str) -> list[str]:
    """Names of the API reference that do not exist, or have no docstring of their own."""
    complaints = []
    for name in re.findall(r"^::: ([\w.]+)$", text, flags=re.MULTILINE):
        try:
            named = pkgutil.resolve_name(name)
        except (ImportError, AttributeError) as error:
            complaints.append(f"{name}: {error}")
        else:
            complaints += [] if named.__doc__ else [f"{name} has no docstring"]
    return complaints


@pytest.mark.parametrize("page", ["docs/api.md", "docs/settings.md"])
def test_the_reference_names_what_there_is(page):
    assert reference_faults(read(page)) == []


def test_each_page_is_in_the_site():
    navigation = read("mkdocs.yml").partition("\nnav:\n")[2]
    pages = [page.removeprefix("docs/").replace("README", "index") for page in PAGES]
    assert [page for page in pages if f" {page}\n" not in navigation] == []


# ---- what a stranger reads first


@pytest.mark.parametrize(
    ("page", "answer"),
    [
        ("training", "--set training.learning_rate="),
        ("training", "--device"),
        ("translation", "--glossary terms.tsv"),
        ("own-text", "--from tatoeba-en-de-fr"),
        ("interop", "--to huggingface"),
    ],
)
def test_the_first_300_words_answer_the_first_questions(page, answer):
    assert answer in " ".join(read(f"docs/{page}.md").split()[:300])


def test_pages_are_short():
    words = {page: len(read(page).split()) for page in PAGES if page.startswith("docs/")}
    free = {"docs/results.md", "docs/performance.md"}
    assert {page for page, count in words.items() if count > 1500 + 1500 * (page == "docs/training.md")} <= free
    assert sum(words.values()) <= 34_000


# ---- the tree


def tree(text: str) -> list[str]:
    """The paths of a drawn tree: names at the beginning of each line, two spaces deeper in each folder."""
    drawn = next(block for block in blocks(text, "text") if "src/limelight/\n" in block)
    folders: list[str] = []
    paths = []
    for line in drawn.splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        # several names may stand before the words; two spaces divide them
        names = list(takewhile(re.compile(r"\S+(/|\.\w+)|Makefile").fullmatch, re.split(r"\s{2,}", line.strip())))
        paths += ["".join(folders[:depth]) + name for name in names]
        folders[depth:] = names[:1]
    return paths


def package_files() -> set[str]:
    return {f"src/limelight/{path.relative_to(SOURCE).as_posix()}" for path in SOURCE.rglob("*.py")}


def test_the_tree_in_the_architecture_has_each_package():
    drawn = {path for path in tree(read("docs/architecture.md")) if path.endswith("/")} - {"src/limelight/"}
    assert drawn >= {path.rpartition("/")[0] + "/" for path in package_files() if path.count("/") > 2}
    assert all((ROOT / path).is_dir() for path in drawn)


def undefined(table: str) -> list[str]:
    """Names of a table (`file.py`: `name`, `Class.name`) that are not defined in their file."""
    return [
        f"{file}: {name}"
        for file, names in re.findall(r"`([\w/]+\.py)`: (`[\w.]+`(?:, `[\w.]+`)*)", table)
        for name in re.findall(r"\w+", names)
        if not re.search(rf"(def|class) {name}\b|^{name}\b.*=", read(f"src/limelight/{file}"), re.MULTILINE)
    ]


def test_things_are_where_the_table_says():
    text = read("CONTRIBUTING.md")
    assert undefined(text) == []
    assert undefined(text.replace("`Past.reorder`", "`Past.reordered`")) == ["models/cache.py: reordered"]


# ---- settings, recipes, formats


def undescribed(code: str) -> list[str]:
    """Fields of the classes of a module that no docstring follows, class variables left out."""
    return [
        f"{each.name}.{field.target.id}"
        for each in ast.parse(code).body
        if isinstance(each, ast.ClassDef)
        for field, after in pairwise([*each.body, ast.Pass()])
        if isinstance(field, ast.AnnAssign) and "ClassVar" not in ast.unparse(field.annotation)
        if not (isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant))
    ]


@pytest.mark.parametrize("module", ["run", "models"])
def test_every_setting_is_described_where_it_is_declared(module):
    assert undescribed((SOURCE / "config" / f"{module}.py").read_text(encoding="utf-8")) == []


def test_every_section_is_on_the_page_of_settings():
    sections = [f"::: limelight.config.{kind.__name__}\n" for kind in [*SECTIONS, *FAMILIES.values()]]
    assert [section for section in sections if section not in read("docs/settings.md")] == []


def test_what_a_run_may_change_is_listed():
    listed = (
        read("docs/training.md").partition("**Settings of a run stay.**")[2].partition("The defaults of the search")[0]
    )
    assert set(re.findall(r"`(\w+)`", listed)) - {"training"} == MAY_CHANGE


def test_every_recipe_has_a_row():
    table = read("docs/training.md").partition("\n## Recipes\n")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `([\w-]+)` \|", table, flags=re.MULTILINE)) == set(RECIPES)


def test_every_field_of_a_translation_has_a_row():
    table = read("docs/translation.md").partition("**`--json`**")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, flags=re.MULTILINE) == [field.name for field in fields(Translation)]


def test_every_field_of_a_generated_text_has_a_row():
    table = read("docs/generating.md").partition("\n## What `--json` says\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, flags=re.MULTILINE) == [field.name for field in fields(Generated)]


def test_the_samples_of_the_bundled_model_are_the_first_of_its_card():
    (card,) = bundled_models().values()
    tables = re.findall(
        r"^(\w+):\n\n\| English .*\n.*\n(.*\n.*\n)", (card / CARD).read_text("utf-8"), flags=re.MULTILINE
    )
    rows = [f"| {register} {row}" for register, table in tables for row in table.splitlines()]
    assert len(rows) == 6
    assert "\n".join(rows) in read("README.md")
