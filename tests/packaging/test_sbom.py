"""The software bill of materials names every package that is pinned."""

import json
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
