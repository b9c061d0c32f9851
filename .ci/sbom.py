"""Write limelight.cdx.json: the software bill of materials of requirements.txt, in CycloneDX 1.6.

make sbom        names, versions, licenses and package URLs, as they are installed in .venv
"""

import json
import re
import sys
import uuid
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)$", re.MULTILINE)


def component(name: str, version: str) -> dict[str, Any]:
    """One package. Its license is left out where it is not installed, or names none."""
    found: dict[str, Any] = {"type": "library", "bom-ref": f"pkg:pypi/{name}@{version}", "name": name}
    found |= {"version": version, "purl": f"pkg:pypi/{name}@{version}"}
    try:
        about = metadata(name)
    except PackageNotFoundError:
        return found
    if expression := about["License-Expression"]:
        return {**found, "licenses": [{"expression": expression}]}
    named = [each.rpartition(" :: ")[2] for each in about.get_all("Classifier", []) if each.startswith("License ::")]
    return {**found, "licenses": [{"license": {"name": each}} for each in named]} if named else found


def bill(requirements: str, version: str) -> dict[str, Any]:
    """The document for the text of a requirement file."""
    parts = [component(*pin) for pin in PIN.findall(requirements)]
    about = {"type": "application", "bom-ref": "limelight", "name": "limelight", "version": version}
    depends = [{"ref": "limelight", "dependsOn": [each["bom-ref"] for each in parts]}]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid4()}",
        "version": 1,
        "metadata": {"component": about},
        "components": parts,
        "dependencies": depends,
    }


if __name__ == "__main__":
    text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "limelight.cdx.json")
    out.write_text(json.dumps(bill(text, metadata("limelight")["Version"]), indent=1) + "\n", encoding="utf-8")
    print(f"{out}: {len(PIN.findall(text))} packages")
