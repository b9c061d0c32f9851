"""How many files a sentence crosses on its way: what a reader opens to follow it. A budget, to be brought down."""

import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

import pytest
import torch

import limelight
from limelight.batching.stream import Position
from limelight.config import RunConfig
from limelight.models.build import build_model
from limelight.pipelines.translator import Translator
from limelight.preparation.pairs import Prepared, make_stores, prepare
from limelight.text.pair import Pair
from limelight.tokens import Tokenizers
from limelight.training.loss import batch_loss
from limelight.training.tasks.translation import stream_of
from tests.training.helpers import tiny_run

SOURCE = Path(limelight.__file__).parent
MODEL = ("attention", "layers", "models")
"""The folders of a model's own mathematics."""

MAX_TO_TRANSLATION, MAX_TO_LOSS = 30, 18
"""As measured, the first on a CPU with compiled loops; the aim is 15 and 10."""


def crossed(call: Callable[[], object]) -> set[str]:
    """The files of Limelight in which a function runs during `call`, in any thread. It runs once before, so that what
    is only done at first (imports, packing) does not count."""
    call()
    found: set[str] = set()

    def seen(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            found.add(frame.f_code.co_filename)

    threading.setprofile(seen)
    sys.setprofile(seen)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return {str(Path(name).relative_to(SOURCE)) for name in found if Path(name).is_relative_to(SOURCE)}


@pytest.fixture
def run(tmp_path: Path) -> tuple[RunConfig, Path, Tokenizers]:
    """A configuration, its folder, and the vocabulary that is learned there."""
    config = tiny_run(tmp_path / "text")
    config = config.model_copy(update={"tokens": config.tokens.model_copy(update={"sampling": 0.0})})
    (tmp_path / "run").mkdir()
    return config, tmp_path / "run", prepare(config, tmp_path / "run", lambda _: None).tokenizers


def test_from_text_to_translation(run: tuple[RunConfig, Path, Tokenizers]) -> None:
    config, _, tokenizers = run
    torch.manual_seed(1)  # what a guard finds in a translation decides how far it goes
    translator = Translator(build_model(config.model, tokenizers).eval(), tokenizers, config.decoding, precision="fp32")
    files = crossed(lambda: translator.translate("one two three"))
    assert {"pipelines/translator.py", "tokens/sentencepiece.py", "decoding/beam.py"} <= files
    assert len(files) <= MAX_TO_TRANSLATION, " ".join(sorted(files))


def test_from_text_to_loss(run: tuple[RunConfig, Path, Tokenizers]) -> None:
    """A pair is read, cleaned, tokenized, stored, drawn into a batch, and its loss is computed."""
    config, folder, tokenizers = run
    model = build_model(config.model, tokenizers)

    def encode(pairs: Sequence[Pair]) -> tuple[list[list[int]], list[list[int]]]:
        source, target = zip(*((pair.source, pair.target) for pair in pairs), strict=True)
        return tokenizers.source.encode_batch(source), tokenizers.target.encode_batch(target)

    def to_loss() -> None:
        for file in (folder / "data").rglob("*.json"):
            file.unlink()
        stores = make_stores(config, encode, folder, lambda _: None, ids=tokenizers.source.size)
        batches = stream_of(config, Prepared(tokenizers, stores, []), processes=0).batches(Position())
        batch_loss(model, next(batches)[0], label_smoothing=0.1).backward()
        batches.close()

    files = {name for name in crossed(to_loss) if not name.startswith(MODEL)}
    assert {"text/readers/lines.py", "batching/store.py", "training/loss.py"} <= files
    assert len(files) <= MAX_TO_LOSS, " ".join(sorted(files))
