"""Write requirements.txt and requirements-dev.txt: the exact versions installed here, as far as the project needs them.

    make lock        after `.venv/bin/pip install -U ...` of whatever should be renewed, and a green `make test`

A local build's mark (`2.13.0+cpu`) is left out, so that every machine takes the build it has; the packages that a CUDA
build of torch asks for are not listed and come with that build.
"""

import tomllib
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
HEADER = """\
# The exact versions that are tested: all it takes to {what}.
# Written by `make lock` from what is installed in .venv. To renew: upgrade there, `make test`, `make lock`.
"""


def closure(wanted: list[str]) -> dict[str, str]:
    """Name -> version of every requirement and of all it needs on this machine, from what is installed."""
    pins: dict[str, str] = {}
    seen: set[str] = set()
    waiting = [Requirement(line) for line in wanted]
    while waiting:
        requirement = waiting.pop()
        if str(requirement) in seen or requirement.name == PROJECT["project"]["name"]:
            continue
        seen.add(str(requirement))
        installed = distribution(requirement.name)
        pins[canonicalize_name(requirement.name)] = installed.version.partition("+")[0]
        extras = requirement.extras or {""}
        for line in installed.requires or []:
            needed = Requirement(line)
            if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in extras):
                waiting.append(needed)
    return pins


def main() -> None:
    """Write both files."""
    extras = PROJECT["project"]["optional-dependencies"]
    run = closure(
        PROJECT["build-system"]["requires"]
        + PROJECT["project"]["dependencies"]
        + extras["fast"]
        + extras["plot"]
        + extras["serve"]
    )
    dev = closure(extras["dev"] + extras["tensorboard"] + extras["export"] + ["packaging"])
    for name, what, first, pins in (
        ("requirements.txt", "run", "", run),
        ("requirements-dev.txt", "test and check", "-r requirements.txt\n", dev.items() - run.items()),
    ):
        lines = [f"{package}=={version}\n" for package, version in sorted(dict(pins).items())]
        (ROOT / name).write_text(HEADER.format(what=what) + first + "".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
