"""The code on the page about understanding runs as it stands there."""

import re
from pathlib import Path

import pytest

from limelight.config import RunConfig
from limelight.storage.model import save_model
from limelight.tokens import Tokenizers
from tests.pipelines.helpers import config, masked_model, tokenizer

PAGE = Path(__file__).parents[2] / "docs" / "understanding.md"


def test_the_code_on_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    both = Tokenizers(tokenizer(), tokenizer())
    save_model(tmp_path / "runs" / "gaps", masked_model(), both, RunConfig(model=config()), notes={}, card="")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), names)
    assert capsys.readouterr().out.startswith("(3, 12)\n")
