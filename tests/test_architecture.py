"""The rules that keep the code small: levels without cycles, budgets, and nothing that could run untrusted code.

Every rule is a function from sources (module name -> text) to complaints. It is tried on a few lines that break it, so
that it is known to be able to fail, and then on the whole of `src/limelight`.
"""

import ast
import graphlib
import re
import statistics
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
Sources = dict[str, str]

LEVELS = (
    {"child", "errors", "files", "memory", "plugins", "resumable", "screen", "shapes", "signals", "untrusted"},
    {"config", "recipes", "text", "tokens"},
    {"batching", "attention", "capabilities", "layers"},
    {"models"},
    {"storage"},
    {"inference", "preparation"},
    {"decoding", "interop", "inspection"},
    {"pipelines"},
    {"corpus", "documents", "evaluation"},
    {"serving"},
    {"training"},
    {"cli", "limelight", "__main__"},  # `limelight` is the face, src/limelight/__init__.py
)
LEVEL_OF = {unit: level for level, units in enumerate(LEVELS) for unit in units}
WITHOUT_TORCH = LEVELS[0] | LEVELS[1]
IMPORT_NAMES = {
    "pyyaml": "yaml",
    "markdown-it-py": "markdown_it",
    "prometheus-client": "prometheus_client",
    "python-multipart": "python_multipart",
}  # distributions that are imported under another name

MAX_FILE, MAX_FUNCTION, MAX_MEDIAN = 600, 60, 15

NEVER_IMPORTED = {"pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve", "requests", "huggingface_hub"}
NEVER_CALLED = {
    *("eval", "exec", "torch.load", "torch.hub.load", "yaml.load", "yaml.unsafe_load", "yaml.full_load"),
    *("hf_hub_download", "snapshot_download", "from_pretrained", "urlopen", "urlretrieve"),
}

INTERNALS = {"__class__", "_parameters", "_modules", "_buffers"}
READERS = {"limelight.pipelines.codec"}
"""They only read: whether a weight has changed is asked at each call. That takes 0.05 ms for the bundled model, and
0.34 ms through `getattr`, a fifteenth of a short sentence."""


OF_THE_PROCESS = {
    *("set_num_threads", "set_num_interop_threads", "setswitchinterval", "set_float32_matmul_precision"),
    *("set_default_dtype", "set_default_device", "manual_seed", "use_deterministic_algorithms", "hold_memory_for_work"),
    *("mallopt", "signal.signal", "signal.set_wakeup_fd", "gc.disable", "gc.enable", "gc.freeze", "random.seed"),
    *("gc.set_threshold", "rare_collections"),
    *("os.environ.setdefault", "os.environ.update", "os.environ.pop", "os.putenv", "os.chdir", "os.umask"),
    *("set_start_method", "setrecursionlimit", "setlocale", "basicConfig"),
}
OWNERS = {
    "limelight.child": "a child owns its process",
    "limelight.cli.models": "the command line",
    "limelight.cli.learn": "the command line",
    "limelight.cli.serve": "the command line",
    "limelight.cli.train": "the command line",
    "limelight.memory": "what the command line asks for",
    "limelight.decoding.ahead": "for an owner of the process, who calls `compile_here`",
    "limelight.signals": "listens while a run or a command asks it to",
    "limelight.corpus.worker": "a worker owns its process",
    "limelight.pipelines.scheduler": "for an owner of the process, who says so with `threads`",
    "limelight.serving.links": "an engine of the service owns its process",
    "limelight.serving.load": "the same, or a thread of the service",
    "limelight.training.distributed": "a run seeds what each batch draws",
    "limelight.training.run": "a run owns its process while it lasts",
    "limelight.training.optimization.precision": "the same",
}
"""Who may change settings of the whole process, and why: a call of the library changes none."""


def read_sources(folder: Path) -> Sources:
    """Module name -> text; a package's `__init__.py` has the name of the package."""
    sources = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        sources[name] = path.read_text(encoding="utf-8")
    return sources


LIMELIGHT = read_sources(ROOT / "src" / "limelight")


@cache
def nodes(text: str) -> tuple[ast.AST, ...]:
    """All nodes of the syntax tree of a file. Kept, because most checks want those of every file."""
    return tuple(ast.walk(ast.parse(text)))


def is_package(name: str, sources: Sources) -> bool:
    return any(other.startswith(name + ".") for other in sources)


def imports(name: str, sources: Sources) -> Iterator[tuple[str, str]]:
    """(module, name taken from it or "") of every import statement, those inside functions too."""
    for node in nodes(sources[name]):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = name.split(".")
                up = node.level - is_package(name, sources)
                base = ".".join([*package[: len(package) - up], *filter(None, [node.module])])
            yield from ((base, alias.name) for alias in node.names)


def inner_imports(name: str, sources: Sources) -> set[str]:
    """The modules of Limelight that a module knows; `__version__` of the face is only a string."""
    found = set()
    for module, taken in imports(name, sources):
        if module.split(".")[0] == "limelight" and taken != "__version__":
            deeper = f"{module}.{taken}"
            found.add(deeper if deeper in sources else module)
    return found


def outer_imports(name: str, sources: Sources) -> set[str]:
    """The top names of the packages of others that a module imports; torch's door to tensorboard counts as that."""
    found = set()
    for module, taken in imports(name, sources):
        full = f"{module}.{taken}"
        found.add("tensorboard" if full.startswith("torch.utils.tensorboard") else full.split(".")[0])
    return found - {"limelight"}


def unit_of(module: str) -> str:
    """`limelight.text.clean` -> `text`; the face -> `limelight`."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else parts[0]


def upward_imports(sources: Sources) -> list[str]:
    complaints = []
    for name in sources:
        if unit_of(name) not in LEVEL_OF:
            complaints.append(f"{name}: {unit_of(name)!r} is on no level; give it one in LEVELS")
            continue
        for other in sorted(inner_imports(name, sources)):
            if LEVEL_OF.get(unit_of(other), 99) > LEVEL_OF[unit_of(name)]:
                complaints.append(f"{name} imports {other}, which is on a higher level")
    return complaints


def circles(sources: Sources) -> list[str]:
    """Circles among files, and among packages (two packages can know each other through different files)."""
    files = {name: inner_imports(name, sources) - {name} for name in sources}
    units: dict[str, set[str]] = {}
    for name, others in files.items():
        units.setdefault(unit_of(name), set()).update({unit_of(other) for other in others} - {unit_of(name)})
    complaints = []
    for graph in (files, units):
        try:
            graphlib.TopologicalSorter(graph).prepare()
        except graphlib.CycleError as error:
            complaints.append("circle: " + " <- ".join(error.args[1]))
    return complaints


def torch_below(sources: Sources) -> list[str]:
    return [
        f"{name} imports torch"
        for name in sources
        if unit_of(name) in WITHOUT_TORCH and "torch" in outer_imports(name, sources)
    ]


def package_faults(sources: Sources, required: set[str], optional: set[str]) -> list[str]:
    """Packages that are not declared, and optional ones that are imported in more than one folder."""
    users: dict[str, list[str]] = {}
    for name in sources:
        for package in outer_imports(name, sources) - required - sys.stdlib_module_names:
            users.setdefault(package, []).append(name)
    complaints = []
    for package, names in sorted(users.items()):
        if package not in optional:
            complaints.append(f"{package}, imported by {names}, is declared nowhere in pyproject.toml")
        elif len(names) > 1 and len({name.rpartition(".")[0] for name in names}) > 1:
            complaints.append(f"{package} is optional but imported in several folders: {names}")
    return complaints


def functions(sources: Sources) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for name, text in sources.items():
        for node in nodes(text):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield name, node


def length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def over_budget(sources: Sources) -> list[str]:
    """Files and functions that are too long."""
    complaints = [
        f"{name}: {lines} lines, at most {MAX_FILE}"
        for name, text in sources.items()
        if (lines := len(text.splitlines())) > MAX_FILE
    ]
    for name, node in functions(sources):
        place = f"{name}.{node.name} (line {node.lineno})"
        if length(node) > MAX_FUNCTION:
            complaints.append(f"{place}: {length(node)} lines, at most {MAX_FUNCTION}")
    return complaints


def median_length(sources: Sources) -> float:
    return statistics.median(length(node) for _, node in functions(sources))


def hands_on(node: ast.stmt) -> bool:
    """Whether a statement only hands names on: imports, `__all__` and the like, a lazy `__getattr__`, the docstring."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.FunctionDef(name=name):
            return name.startswith("__") and name.endswith("__")
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return all(hands_on(inner) for inner in node.body)
    return False


def busy_doors(sources: Sources) -> list[str]:
    return [
        f"{name}/__init__.py does more than hand on names (line {node.lineno})"
        for name in sources
        if is_package(name, sources)
        for node in ast.parse(sources[name]).body
        if not hands_on(node)
    ]


def unsafe_calls(sources: Sources) -> list[str]:
    """What could run a stranger's code or reach into the network. `model.eval()` is a method and harmless."""
    complaints = []
    for name, text in sources.items():
        complaints += [f"{name} imports {package}" for package in sorted(outer_imports(name, sources) & NEVER_IMPORTED)]
        for node in nodes(text):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            method = called.rpartition(".")[2]
            if called in NEVER_CALLED or (method in NEVER_CALLED and method not in ("eval", "exec")):
                complaints.append(f"{name}:{node.lineno} calls {called}")
            if any(word.arg == "allow_pickle" and ast.unparse(word.value) != "False" for word in node.keywords):
                complaints.append(f"{name}:{node.lineno} allows pickle")
    return complaints


def module_internals(sources: Sources) -> list[str]:
    """Where an object becomes one of another class, or a module's own tables are touched: whoever wants another model
    makes one of parts."""
    return [
        f"{name}:{node.lineno} touches {node.attr}"
        for name, text in sources.items()
        for node in nodes(text)
        if isinstance(node, ast.Attribute) and node.attr in INTERNALS
    ]


def process_settings(sources: Sources) -> list[str]:
    """Calls that change a setting of the whole process, outside of those who own one."""
    complaints = []
    for name, text in sources.items():
        for node in nodes(text):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
            elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
                called = ast.unparse(node.value)
            else:
                continue
            if OF_THE_PROCESS & {called, called.rpartition(".")[2]} or (
                called == "os.environ" and isinstance(node, ast.Subscript)
            ):
                complaints.append(f"{name}:{node.lineno} changes a setting of the process: {called}")
    return [line for line in complaints if line.partition(":")[0] not in OWNERS]


def lines_of(folder: Path) -> int:
    texts = [path.read_text(encoding="utf-8") for path in folder.rglob("*.py")]
    return sum(bool(line.strip()) for text in texts for line in text.splitlines())


def declared(project: dict) -> tuple[set[str], set[str]]:
    """Import names of the required and of the optional packages in pyproject.toml."""

    def names(lines: list[str]) -> set[str]:
        bare = [line.partition("[")[0].partition(">")[0].partition("=")[0].strip().lower() for line in lines]
        return {IMPORT_NAMES.get(name, name).replace("-", "_") for name in bare}

    optional = [line for lines in project["optional-dependencies"].values() for line in lines]
    return names(project["dependencies"]), names(optional)


# --- each rule can fail ---


def test_an_import_upwards_is_found() -> None:
    bad = {"limelight.text.clean": "def f():\n    from limelight.models import build", "limelight.models": ""}
    assert upward_imports(bad) == ["limelight.text.clean imports limelight.models, which is on a higher level"]


def test_a_relative_import_upwards_is_found() -> None:
    bad = {"limelight.text": "", "limelight.text.clean": "from ..cli import main", "limelight.cli": ""}
    assert upward_imports(bad) == ["limelight.text.clean imports limelight.cli, which is on a higher level"]


def test_nobody_imports_the_face_but_for_the_version() -> None:
    bad = {"limelight": "", "limelight.models": "import limelight", "limelight.cli": "import limelight"}
    assert upward_imports(bad) == ["limelight.models imports limelight, which is on a higher level"]
    assert not upward_imports({"limelight": "", "limelight.models": "from limelight import __version__"})


def test_a_package_without_a_floor_is_found() -> None:
    assert "is on no level" in upward_imports({"limelight.attic": ""})[0]


def test_a_circle_of_files_is_found() -> None:
    bad = {
        "limelight.text.a": "from limelight.text import b",
        "limelight.text.b": "import limelight.text.a",
        "limelight.text": "",
    }
    assert len(circles(bad)) == 1
    assert circles(bad)[0].startswith("circle: limelight.text.")


def test_a_circle_of_packages_through_different_files_is_found() -> None:
    bad = {
        "limelight.text.a": "import limelight.tokens.a",
        "limelight.tokens.b": "import limelight.text.b",
        "limelight.text.b": "",
        "limelight.tokens.a": "",
    }
    assert len(circles(bad)) == 1
    assert "text" in circles(bad)[0]
    assert "tokens" in circles(bad)[0]


@pytest.mark.parametrize("line", ["import torch", "import torch.nn", "def f():\n    from torch import Tensor"])
def test_torch_on_the_lower_floors_is_found(line: str) -> None:
    assert torch_below({"limelight.config": line, "limelight.models.x": line}) == ["limelight.config imports torch"]


def test_an_optional_package_in_two_folders_is_found() -> None:
    bad = {
        "limelight.a.one": "import drawing",
        "limelight.b.two": "def f():\n    from drawing import x",
        "limelight.c": "import os",
    }
    assert "imported in several folders" in package_faults(bad, set(), {"drawing"})[0]
    assert not package_faults({name.replace(".b.", ".a."): text for name, text in bad.items()}, set(), {"drawing"})
    assert "declared nowhere" in package_faults(bad, set(), set())[0]
    assert not package_faults(bad, {"drawing"}, set())


def test_tensorboard_is_seen_behind_torch() -> None:
    line = "from torch.utils.tensorboard import SummaryWriter"
    assert outer_imports("limelight.a", {"limelight.a": line}) == {"tensorboard"}


def test_what_is_over_budget_is_found() -> None:
    function = "def f():\n" + "    pass\n" * MAX_FUNCTION
    complaints = over_budget({"limelight.a": function, "limelight.b": "\n" * (MAX_FILE + 1), "limelight.c": "\n"})
    assert [line.split(":")[0] for line in complaints] == ["limelight.b", "limelight.a.f (line 1)"]
    assert not over_budget({"limelight.a": function.replace("    pass\n", "", 1)})


def test_the_median_is_measured() -> None:
    assert (
        median_length({"limelight.a": "def f():\n    pass\nclass A:\n    def g(self):\n        pass\n\n        pass\n"})
        == 3
    )


@pytest.mark.parametrize("line", ["x = 1", "def f(): ...", "class A: ...", "print()", "if TYPE_CHECKING:\n    x = 1"])
def test_a_busy_door_is_found(line: str) -> None:
    assert len(busy_doors({"limelight.a": f'"""Door."""\n{line}', "limelight.a.b": "x = 1"})) == 1


@pytest.mark.parametrize(
    "line",
    [
        "import pickle",
        "from pickle import loads",
        "torch.load(x)",
        "eval('1')",
        "yaml.load(x)",
        "Model.from_pretrained(x)",
        "np.load(x, allow_pickle=True)",
        "urllib.request.urlopen(x)",
        "import huggingface_hub",
    ],
)
def test_what_could_run_or_fetch_is_found(line: str) -> None:
    assert len(unsafe_calls({"limelight.a": f"def f(x):\n    {line}"})) == 1


@pytest.mark.parametrize("line", ["model.eval()", "yaml.safe_load(x)", "np.load(x, allow_pickle=False)", "load(x)"])
def test_what_is_harmless_passes(line: str) -> None:
    assert not unsafe_calls({"limelight.a": line})


@pytest.mark.parametrize("line", ["twin.__class__ = Other", "twin._modules['a'] = b", "dict(module._parameters)"])
def test_a_module_that_is_rebuilt_from_inside_is_found(line: str) -> None:
    assert len(module_internals({"limelight.a": line})) == 1


@pytest.mark.parametrize(
    "line",
    [
        "torch.set_num_threads(2)",
        "sys.setswitchinterval(1e-5)",
        "os.environ['A'] = 'b'",
        "del os.environ['A']",
        "os.environ.setdefault('A', 'b')",
        "torch.manual_seed(3)",
        "gc.freeze()",
        "hold_memory_for_work()",
        "signal.signal(2, f)",
    ],
)
def test_a_setting_of_the_process_is_found(line: str) -> None:
    assert len(process_settings({"limelight.a": f"def f(x):\n    {line}"})) == 1
    assert not process_settings({"limelight.cli.models": line})


@pytest.mark.parametrize("line", ["generator.seed(3)", "os.environ['A']", "torch.get_num_threads()", "x['a'] = 2"])
def test_what_changes_nothing_of_the_process_passes(line: str) -> None:
    assert not process_settings({"limelight.a": line})


# --- and Limelight keeps them ---


def test_imports_only_go_down() -> None:
    assert upward_imports(LIMELIGHT) == []


def test_the_levels_in_the_documentation_are_these() -> None:
    """A package that is only planned need not be in the table, nor here."""
    rows = re.findall(r"^\| (\d+) \| (.+?) (?:\(no torch\) )?\|$", ARCHITECTURE, re.M)
    named = {int(level): set(re.findall(r"`(\w+)`", names)) for level, names in rows}
    assert named == {level: units - {"limelight", "__main__"} for level, units in enumerate(LEVELS)}


def test_places_are_named_in_registries_alone() -> None:
    """`module:name` reaches upwards where no import may: in the two registries, whose rows are resolved by tests."""
    users = {name for name, text in LIMELIGHT.items() if re.search(r"\"limelight(\.\w+)+:\w+\"", text)}
    assert users == {"limelight.config.models", "limelight.models.families"}


def test_there_is_no_circle() -> None:
    assert circles(LIMELIGHT) == []


def test_strings_need_no_torch() -> None:
    assert torch_below(LIMELIGHT) == []


def test_the_lower_floors_load_without_torch() -> None:
    """Not even through another package: reading text and a configuration must not cost a second."""
    names = sorted(name for name in LIMELIGHT if unit_of(name) in WITHOUT_TORCH | {"limelight"})
    code = f"import sys, {', '.join(names)}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT / "src", check=False).returncode == 0


def test_packages_are_declared_and_optional_ones_stay_in_one_folder() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert package_faults(LIMELIGHT, *declared(project)) == []


def test_numba_is_known_in_one_folder() -> None:
    users = {name for name in LIMELIGHT if "numba" in outer_imports(name, LIMELIGHT)}
    assert {name.rpartition(".")[0] for name in users} == {"limelight.inference.cpu"}


def test_readable_models_know_nothing_of_fast_ones() -> None:
    readable = [name for name in LIMELIGHT if unit_of(name) in ("attention", "layers", "models", "storage")]
    known = {unit_of(other) for name in readable for other in inner_imports(name, LIMELIGHT)}
    assert "inference" not in known


def test_files_and_functions_keep_their_budgets() -> None:
    assert over_budget(LIMELIGHT) == []


def test_the_median_function_is_short() -> None:
    assert median_length(LIMELIGHT) <= MAX_MEDIAN


def test_doors_only_hand_on_names() -> None:
    assert busy_doors(LIMELIGHT) == []


def test_nothing_runs_or_fetches_untrusted_input() -> None:
    assert unsafe_calls(LIMELIGHT) == []


def test_models_are_made_of_parts() -> None:
    assert module_internals({name: text for name, text in LIMELIGHT.items() if name not in READERS}) == []


def test_settings_of_the_process_are_changed_by_those_who_own_it() -> None:
    assert process_settings(LIMELIGHT) == []
    for owner in OWNERS:  # none of them stands there without need
        assert process_settings({"limelight.somewhere": LIMELIGHT[owner]}) != [], owner


def test_there_is_at_least_as_much_test_as_code() -> None:
    assert lines_of(ROOT / "tests") >= lines_of(ROOT / "src")


OF_TESTS = {"NO_FORMS"}
"""Names that only tests use."""


def unused(sources: Sources, users: str) -> list[str]:
    """Functions, classes and constants of modules that nothing names a second time, neither the package nor `users`.
    What is decorated is registered."""
    named = Counter(re.findall(r"\w+", " ".join([*sources.values(), users])))
    found = []
    for module, text in sources.items():
        for node in ast.parse(text).body:
            names = [node.name] if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.decorator_list else []
            names += (
                [each.id for each in node.targets if isinstance(each, ast.Name)] if isinstance(node, ast.Assign) else []
            )
            found += [f"{module}: {name}" for name in names if named[name] == 1 and not name.startswith("__")]
    return found


def test_what_is_unused_is_found() -> None:
    text = "ALONE = 1\nUSED = 2\ndef once():\n    return USED\n@command\ndef registered(): ...\ndef called(): ...\n"
    assert unused({"a": text}, "called") == ["a: ALONE", "a: once"]


def test_everything_is_used() -> None:
    """Benchmarks, examples and the documentation count as users, tests do not."""
    users = [path for folder in ("benchmarks", "examples", "docs") for path in (ROOT / folder).rglob("*.*")]
    text = " ".join(path.read_text(encoding="utf-8") for path in users if path.suffix in (".py", ".md"))
    recipes = "limelight.config.recipes"  # whose functions are found by their names
    listed = unused({name: each for name, each in LIMELIGHT.items() if name != recipes}, text + LIMELIGHT[recipes])
    assert [each for each in listed if each.split(": ")[1] not in OF_TESTS] == []
