"""The rules of the house: imports go down, without cycles; optional packages stay in one folder; no untrusted code.

A rule is a function from sources (module name -> text) to complaints. The first test tries each rule on a line that
breaks it; the others hold `src/limelight` to it.
"""

import ast
import graphlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
Sources = dict[str, str]

LEVELS = (
    {"child", "errors", "files", "memory", "plugins", "registry", "screen", "shapes", "signals", "untrusted"},
    {"config", "formats", "recipes", "text", "tokens"},
    {"batching", "attention", "capabilities", "layers"},
    {"models"},
    {"storage"},
    {"inference", "preparation"},
    {"decoding", "interop", "inspection"},
    {"pipelines"},
    {"corpus", "documents", "evaluation"},
    {"serving"},
    {"training"},
    {"cli", "limelight", "__main__"},  # `limelight` is src/limelight/__init__.py
)
LEVEL_OF = {package: level for level, packages in enumerate(LEVELS) for package in packages}
WITHOUT_TORCH = LEVELS[0] | LEVELS[1]
NEVER_IMPORTED = {"pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve", "requests", "huggingface_hub"}
NEVER_CALLED = {
    *("eval", "exec", "torch.load", "torch.hub.load", "yaml.load", "yaml.unsafe_load", "yaml.full_load"),
    *("hf_hub_download", "snapshot_download", "from_pretrained", "urlopen", "urlretrieve"),
}
INTERNALS = {"__class__", "_parameters", "_modules", "_buffers"}
PROCESS_SETTINGS = {
    *("set_num_threads", "set_num_interop_threads", "setswitchinterval", "set_float32_matmul_precision"),
    *("set_default_dtype", "set_default_device", "manual_seed", "use_deterministic_algorithms", "hold_memory_for_work"),
    *("mallopt", "signal.signal", "signal.set_wakeup_fd", "gc.disable", "gc.enable", "gc.freeze", "random.seed"),
    *("gc.set_threshold", "rare_collections", "os.environ.setdefault", "os.environ.update", "os.environ.pop"),
    *("os.putenv", "os.chdir", "os.umask", "set_start_method", "setrecursionlimit", "setlocale", "basicConfig"),
}
OWNERS = {
    *("limelight.child", "limelight.memory", "limelight.signals", "limelight.decoding.ahead"),
    *("limelight.cli.models", "limelight.cli.serve", "limelight.cli.train"),
    *("limelight.corpus.pool", "limelight.corpus.worker", "limelight.corpus.preloaded"),
    *("limelight.pipelines.scheduler", "limelight.serving.engine", "limelight.serving.worker"),
    *("limelight.training.shares", "limelight.training.run", "limelight.training.optimization.precision"),
}  # modules that run in a process of their own, or only when its owner calls them


def read_sources(folder: Path) -> Sources:
    """Module name -> text; a package's `__init__.py` has the name of the package."""
    names = {path: path.relative_to(folder.parent).with_suffix("").parts for path in sorted(folder.rglob("*.py"))}
    return {".".join(p[:-1] if p[-1] == "__init__" else p): path.read_text("utf-8") for path, p in names.items()}


LIMELIGHT = read_sources(ROOT / "src" / "limelight")


@cache
def nodes(text: str) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(text)))


def package(module: str) -> str:
    """`limelight.text.clean` -> `text`; `limelight` itself stays."""
    return (module.split(".") + module.split("."))[1] if "." in module else module


def is_package(name: str, sources: Sources) -> bool:
    return any(other.startswith(name + ".") for other in sources)


def imports(name: str, sources: Sources) -> Iterator[str]:
    """The full names that a module imports, inside functions too; `limelight.__version__` is only a string."""
    for node in nodes(sources[name]):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = name.split(".")[: len(name.split(".")) - node.level + is_package(name, sources)]
            base = ".".join([*(parents if node.level else []), *filter(None, [node.module])])
            yield from (f"{base}.{alias.name}" for alias in node.names if alias.name != "__version__")


def inner(name: str, sources: Sources) -> set[str]:
    """The modules of Limelight that a module imports."""
    names = [full for full in imports(name, sources) if full.split(".")[0] == "limelight"]
    return {full if full in sources else full.rpartition(".")[0] for full in names} - {name}


def outer(name: str, sources: Sources) -> set[str]:
    """The packages of others that a module imports."""
    return {full.split(".")[0] for full in imports(name, sources)} - {"limelight", *sys.stdlib_module_names}


def upward_imports(sources: Sources) -> list[str]:
    lost = [f"{name}: {package(name)!r} has no level" for name in sources if package(name) not in LEVEL_OF]
    pairs = [(name, other) for name in sources for other in inner(name, sources)]
    return lost + [
        f"{name} imports {other}, which is on a higher level"
        for name, other in pairs
        if not lost and LEVEL_OF[package(other)] > LEVEL_OF[package(name)]
    ]


def cycles(sources: Sources) -> list[str]:
    """Cycles of files, and of packages (two packages can import one another through different files)."""
    files = {name: inner(name, sources) for name in sources}
    packages: dict[str, set[str]] = {}
    for name, others in files.items():
        packages.setdefault(package(name), set()).update({package(other) for other in others} - {package(name)})
    complaints = []
    for graph in (files, packages):
        try:
            graphlib.TopologicalSorter(graph).prepare()
        except graphlib.CycleError as error:
            complaints.append(" <- ".join(error.args[1]))
    return complaints


def torch_below(sources: Sources) -> list[str]:
    return [name for name in sources if package(name) in WITHOUT_TORCH and "torch" in outer(name, sources)]


def package_faults(sources: Sources) -> list[str]:
    """Packages that pyproject.toml does not declare, and optional ones that are imported in more than one folder."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {"pyyaml": "yaml", "markdown-it-py": "markdown_it", "protobuf": "google"}

    def declared(lines: list[str]) -> set[str]:
        bare = [re.split(r"[\[<>=;\s]", line.lower())[0] for line in lines]
        return {names.get(name, name).replace("-", "_") for name in bare}

    required = declared(project["dependencies"])
    optional = declared([line for lines in project["optional-dependencies"].values() for line in lines])
    folders: dict[str, set[str]] = {}
    for name in sources:
        for other in outer(name, sources) - required:
            folders.setdefault(other, set()).add(name.rpartition(".")[0])
    return [
        f"{name} in {users}: not declared, or in several folders"
        for name, users in folders.items()
        if name not in optional or len(users) > 1
    ]


def unsafe(sources: Sources) -> list[str]:
    """What could run untrusted code or reach into the network. `model.eval()` is a method, and harmless."""
    complaints = []
    for name, text in sources.items():
        tops = {full.split(".")[0] for full in imports(name, sources)}
        complaints += [f"{name} imports {other}" for other in tops & NEVER_IMPORTED]
        for call in (node for node in nodes(text) if isinstance(node, ast.Call)):
            called = ast.unparse(call.func)
            pickled = any(word.arg == "allow_pickle" and ast.unparse(word.value) != "False" for word in call.keywords)
            if pickled or ({called, called.rpartition(".")[2]} & NEVER_CALLED and not called.endswith(".eval")):
                complaints.append(f"{name}:{call.lineno} calls {called}")
    return complaints


def touches_internals(sources: Sources) -> list[str]:
    """A class that is reassigned, or torch's own tables of a module: another model is made of parts instead."""
    return [
        f"{name}:{node.lineno} touches {node.attr}"
        for name in sources
        for node in nodes(sources[name])
        if isinstance(node, ast.Attribute) and node.attr in INTERNALS
    ]


def process_settings(sources: Sources) -> list[str]:
    """Changes of settings of the whole process, outside of its owners."""
    complaints = []
    for name in sources.keys() - OWNERS:
        for node in nodes(sources[name]):
            changed = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            stored = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del)
            if {changed, changed.rpartition(".")[2]} & PROCESS_SETTINGS or (
                stored and ast.unparse(node.value) == "os.environ"
            ):
                complaints.append(f"{name}:{node.lineno} changes a setting of the process")
    return complaints


CLEAN = {
    "limelight.text": "from limelight.text.y import f",
    "limelight.text.x": "model.eval()\nyaml.safe_load(x)\nnp.load(x, allow_pickle=False)\nos.environ['A']",
    "limelight.text.y": "from .x import f",
    "limelight.tokens.z": "from limelight.text import f",
    "limelight.cli": "from limelight import __version__",
    "limelight.cli.app": "import matplotlib, tensorboard",
}
RULES = {
    upward_imports: ["from limelight.cli import app", "from ..cli import app", "def f():\n    import limelight.cli"],
    cycles: ["import limelight.text.y", "import limelight.tokens.z"],
    torch_below: ["import torch.nn", "def f():\n    from torch import Tensor"],
    package_faults: ["import attic", "import matplotlib", "from tensorboard.compat import tf"],
    unsafe: [
        "import pickle",
        "eval('1')",
        "torch.load(x)",
        "yaml.load(x)",
        "np.load(x, allow_pickle=True)",
        "m.urlopen(x)",
    ],
    touches_internals: ["twin.__class__ = Other", "dict(module._parameters)"],
    process_settings: ["torch.set_num_threads(2)", "os.environ['A'] = 'b'", "def f():\n    gc.freeze()"],
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_rule_holds_and_can_fail(rule) -> None:
    assert rule(CLEAN) == []
    for line in RULES[rule]:
        assert rule(CLEAN | {"limelight.text.x": line}) != [], line
    assert rule(LIMELIGHT) == []


def test_the_levels_in_the_documentation_are_these() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (.+?) (?:\(no torch\) )?\|$", text, re.MULTILINE)
    named = {int(level): set(re.findall(r"`(\w+)`", names)) for level, names in rows}
    assert named == {level: packages - {"limelight", "__main__"} for level, packages in enumerate(LEVELS)}


def test_names_of_higher_modules_are_in_registries_alone() -> None:
    """`module:name` reaches upwards where no import may: in two registries, whose rows are resolved by tests."""
    users = {name for name, text in LIMELIGHT.items() if re.search(r"\"limelight(\.\w+)+:\w+\"", text)}
    assert users == {"limelight.config.models", "limelight.models.families"}


def test_the_lower_levels_load_without_torch() -> None:
    """Not even through another package: to read text and a configuration must not cost a second."""
    needs_pyarrow = {"limelight.formats.columns"}
    names = sorted(name for name in {*LIMELIGHT} - needs_pyarrow if package(name) in WITHOUT_TORCH | {"limelight"})
    code = f"import sys, {', '.join(names)}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT / "src", check=False).returncode == 0


def test_every_owner_of_a_process_changes_a_setting() -> None:
    assert [name for name in OWNERS if not process_settings({"elsewhere": LIMELIGHT.get(name, "")})] == []


def test_the_style_sheet_has_each_rule_once() -> None:
    sheet = (ROOT / "src/limelight/page/page.css").read_text(encoding="utf-8")
    rules = re.findall(r"^[^\s/@}][^{}]*\{[^{}]*\}", sheet, re.MULTILINE)
    assert len(rules) > 200
    assert len(rules) == len(set(rules))
