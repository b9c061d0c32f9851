"""A model whose vocabulary grew: its old tokens have the logits they had, the new ones the mean of their parts."""

from pathlib import Path

import pytest
import torch

from limelight.models.interface import Seq2Seq
from limelight.storage.model import extend_model, load_model
from limelight.tokens import Tokenizers
from limelight.tokens.extend import extend_tokenizers
from tests.storage.test_model import CONFIGS, joint, save, tokenizer  # noqa: F401


def logits(model: Seq2Seq, source: list[int], target: int) -> torch.Tensor:
    with torch.no_grad():
        memory = model.encode(torch.tensor([source]), torch.ones(1, len(source), dtype=torch.bool))
        features, _ = model.step(torch.tensor([[target]]), model.start(memory))
        return model.project(features)[0, 0]


@pytest.mark.parametrize("name", CONFIGS)
def test_old_tokens_keep_their_logits(name: str, joint: Tokenizers, tmp_path: Path) -> None:  # noqa: F811
    save(tmp_path, joint, name)
    stored = load_model(tmp_path)
    extension = extend_tokenizers(joint, characters="&§")
    model, tokenizers = extend_model(stored, extension), extension.tokenizers
    assert isinstance(model, Seq2Seq)
    assert isinstance(stored.model, Seq2Seq)
    size = joint.target.padding
    source = joint.source.encode("the red cat")
    assert tokenizers.source.encode("the red cat") == source
    before = logits(stored.model, source, size)
    after = logits(model, source, tokenizers.target.padding)
    torch.testing.assert_close(after[:size], before[:size])
    new = after[size : size + 2]
    torch.testing.assert_close(new, torch.stack([before[list(parts)].mean() for parts in extension.parts]))
