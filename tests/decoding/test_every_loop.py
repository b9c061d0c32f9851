"""What is compiled ahead is all there is: real translations of every kind call no loop with other types."""

import os
import sys

import pytest

from limelight.decoding import every_loop
from limelight.decoding.shortlist import ShortOutput
from tests import forked

pytest.importorskip("numba")

SCRIPT = """
import importlib, pkgutil, torch
import limelight
from limelight.decoding.every_loop import compile_every_loop
from limelight.inference import cpu
from limelight.models.transformer.build import build_transformer
from limelight.serving.worker import warm_up

def signatures():
    modules = [importlib.import_module(f"{cpu.__name__}.{each.name}") for each in pkgutil.iter_modules(cpu.__path__)]
    return {
        f"{each.__module__}.{name}: {kinds}"
        for module in modules for name, each in vars(module).items() for kinds in getattr(each, "signatures", ())
    }

torch.set_num_threads(1)
compile_every_loop()
before = signatures()
for precision in (None, "fp32"):
    translator = limelight.load(precision=precision)
    warm_up(translator)
    translator.translate("A dog runs.", prefix="Ein", target_lang="de", source_lang="en", beam_size=1)
    translator.translate(["A dog runs.", "He sleeps."], no_repeat_ngram=2, target_lang="de", source_lang="en")
print(len(before))
for each in sorted(signatures() - before):
    print(each)
"""


@pytest.mark.parametrize(("kind", "precision"), [(None, "fp32"), (object, "int8")])
def test_loops_are_compiled_in_fp32_where_a_cpu_has_no_int8(
    kind: object, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[str] = []
    monkeypatch.setattr("limelight.inference.prepare.int8_kind", lambda: kind)
    monkeypatch.setattr(every_loop, "prepare", lambda model, given: found.append(given) or model)
    monkeypatch.setattr(every_loop, "ShortOutput", lambda model, table, _: ShortOutput(model, table, "fp32"))
    every_loop.compile_every_loop()
    assert found == [precision]


def test_nothing_is_left_to_compile() -> None:
    environment = {**os.environ, "LIMELIGHT_COMPILE": "here"}
    found = forked.run([sys.executable, "-c", SCRIPT], env=environment)
    assert found.returncode == 0, found.stderr
    count, *left = found.stdout.splitlines()
    assert int(count) > 3
    assert left == []
