import numpy as np
import pytest

from limelight.inspection.head_roles import head_roles, measures
from tests.inspection.fakes import softmax

EYE = np.eye(5, dtype=np.float32)


def shifted(offset: int) -> np.ndarray:
    return np.roll(EYE, offset, axis=1)


@pytest.mark.parametrize(
    ("kind", "head", "role", "value"),
    [
        ("encoder_self", shifted(-1), "previous", 1.0),
        ("encoder_self", shifted(1), "next", 1.0),
        ("encoder_self", EYE, "same", 1.0),
        ("encoder_self", np.tile(EYE[-1], (5, 1)), "end", 1.0),
        ("encoder_self", np.full((5, 5), 0.2, np.float32), "spread", 1.0),
        ("decoder_self", np.tile(EYE[0], (5, 1)), "start", 1.0),
        ("decoder_self", np.tri(5, dtype=np.float32) / np.arange(1, 6)[:, None], "spread", 1.0),
        ("cross", EYE, "aligns", 1.0),
        ("cross", np.tile(EYE[-1], (5, 1)), "end", 1.0),
        ("cross", np.tile(EYE[1], (5, 1)), "single", 1.0),  # it aligns nothing
        ("encoder_self", np.tile(EYE[2], (5, 1)), "single", 1.0),
        ("encoder_self", EYE[[2, 3, 0, 1, 4]], "focused", 1.0),
    ],
)
def test_a_head_is_named_by_what_it_does(kind, head, role, value):
    needed = [[0], [1], [2], [3], []] if kind == "cross" else None
    ((described,),) = head_roles(head[None, None].astype(np.float32), kind, needed=needed)
    assert described["role"] == role
    assert described["value"] == pytest.approx(value, abs=1e-4)
    assert described["text"].endswith(f"{value:.2f}")


def test_numbers_are_means_of_weights(seed):
    head = softmax(np.random.default_rng(seed).normal(size=(6, 6)))
    found = measures(head, "encoder_self")
    assert found["previous"] == pytest.approx(np.mean([head[i, i - 1] for i in range(1, 6)]))
    assert found["next"] == pytest.approx(np.mean([head[i, i + 1] for i in range(5)]))
    assert found["end"] == pytest.approx(head[:, 5].mean())
    entropy = [-(row * np.log(row)).sum() / np.log(6) for row in head]
    assert found["spread"] == pytest.approx(np.mean(entropy))


def test_a_head_that_looks_one_word_back_does_not_align():
    needed = [[0, 1], [2], [], [3], []]
    right = EYE[[1, 2, 0, 3, 4]]
    back = EYE[[4, 0, 2, 2, 3]]
    assert measures(right, "cross", needed=needed)["aligns"] == 1
    assert measures(back, "cross", needed=needed)["aligns"] == 0
    assert head_roles(back[None, None], "cross", needed=needed)[0][0]["role"] != "aligns"
    assert "aligns" not in measures(right, "cross"), "without a measurement no head is said to align"
    assert measures(right, "cross", needed=[[]] * 5)["aligns"] == 0


def test_sets_of_columns_are_summed(seed):
    head = softmax(np.random.default_rng(seed).normal(size=(4, 6)))
    assert measures(head, "cross", columns={"signs": [1, 4]})["signs"] == pytest.approx(
        (head[:, 1] + head[:, 4]).mean(), abs=1e-6
    )
    found = measures(head, "decoder_self", columns={"signs": [2]})  # the first row sees only itself
    assert found["signs"] == pytest.approx(head[1:, 2].mean(), abs=1e-6)
