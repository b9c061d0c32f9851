"""The files of deploy/, as far as they can be checked without containers: options exist, paths are served."""

import re
import shlex
from pathlib import Path, PurePosixPath

import pytest
import yaml

from limelight.cli.app import parser_of
from limelight.serving.limits import Limits
from limelight.serving.openapi import APIS

DEPLOY = Path(__file__).parents[2] / "deploy"
SERVE = parser_of("serve")
PATHS = {route.path for api in APIS for route in api.routes}


def read(name: str) -> str:
    return (DEPLOY / name).read_text(encoding="utf-8")


def arguments() -> dict[str, list[str]]:
    """The command lines of all files."""
    compose = yaml.safe_load(read("compose.yaml"))
    (container,) = yaml.safe_load(read("kubernetes.yaml"))["spec"]["template"]["spec"]["containers"]
    unit = re.search(r"^ExecStart=\S*limelight serve (.*)$", read("limelight.service"), re.MULTILINE)
    assert unit is not None
    return {
        "compose": compose["services"]["translate"]["command"],
        "kubernetes": container["args"],
        "systemd": shlex.split(unit[1]),
    }


@pytest.mark.parametrize("name", ["compose", "kubernetes", "systemd"])
def test_its_options_are_those_of_serve(name: str) -> None:
    SERVE.make_context("serve", arguments()[name])


def test_the_folder_of_the_keys_is_mounted() -> None:
    """A change puts another file in its place, which a mount of the file alone would never show."""
    service = yaml.safe_load(read("compose.yaml"))["services"]["translate"]
    keys = PurePosixPath(service["command"][service["command"].index("--keys") + 1])
    assert str(keys.parent) in [volume.split(":")[1] for volume in service["volumes"]]


def test_probes_ask_paths_that_there_are() -> None:
    (container,) = yaml.safe_load(read("kubernetes.yaml"))["spec"]["template"]["spec"]["containers"]
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"]["path"] in PATHS
    for path in re.findall(r"127\.0\.0\.1:8000(/[\w/]+)", read("Dockerfile")):
        assert path in PATHS


def test_nothing_runs_as_root_and_what_is_copied_is_there() -> None:
    dockerfile = read("Dockerfile")
    assert re.search(r"^USER 10001$", dockerfile, re.MULTILINE)
    for line in re.findall(r"^COPY (?!--from)(.*) \S+$", dockerfile, re.MULTILINE):
        for name in line.split():
            assert (DEPLOY.parent / name).exists()


def test_the_balancers_let_pass_what_the_service_takes() -> None:
    documented = (DEPLOY.parent / "docs" / "serving.md").read_text(encoding="utf-8").partition("for nginx:")[2]
    for text in (read("nginx.conf"), documented.partition("```\n\n")[0]):
        megabytes = re.search(r"client_max_body_size (\d+)m;", text)
        seconds = re.search(r"proxy_read_timeout (\d+)s;", text)
        assert megabytes is not None
        assert seconds is not None
        assert int(megabytes[1]) * 1_000_000 > Limits().document
        assert int(seconds[1]) > Limits().deadline
        for header in ("Host $http_host", "X-Forwarded-For $remote_addr", "X-Forwarded-Proto $scheme"):
            assert f"proxy_set_header {header};" in text
