"""Every dependency has one version in the requirement files, and the software bill of materials names each."""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_pinned_package_is_named(tmp_path: Path) -> None:
    out = tmp_path / "bill.json"
    subprocess.run([sys.executable, ROOT / ".ci" / "sbom.py", out], check=True, capture_output=True)
    found = json.loads(out.read_text(encoding="utf-8"))
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    pins = {line for line in lines if line and not line.startswith("#")}
    assert {f"{each['name']}=={each['version']}" for each in found["components"]} == pins
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.6")
    references = {each["bom-ref"] for each in found["components"]}
    assert set(found["dependencies"][0]["dependsOn"]) == references
    licensed = [each for each in found["components"] if "licenses" in each]
    assert len(licensed) > len(pins) / 2


def test_every_dependency_is_pinned() -> None:
    files = sorted(Path(__file__).parents[2].glob("requirements*.txt"))
    assert len(files) >= 4
    for path in files:
        for line in path.read_text(encoding="utf-8").splitlines():
            assert re.match(r"(\S+==[\w.+!-]+( *;.*)?|-.*)? *(#.*)?$", line), f"{path.name}: {line}"
