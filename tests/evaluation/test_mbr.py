"""The translation of least risk is the one of brute force over all samples."""

from dataclasses import replace

from sacrebleu.metrics import CHRF

from limelight.evaluation.mbr import least_risk
from limelight.pipelines.translation import Translation


def test_the_sample_with_the_highest_mean_chrf_is_chosen() -> None:
    texts = ["der Hund rennt.", "ein Hund läuft.", "der Hund läuft.", "Katzen", "der Hund läuft."]
    blank = Translation(text="", score=0.0, tokens=(), log_probability=0.0, source="", finished=True)
    samples = [replace(blank, text=text, score=float(row)) for row, text in enumerate(texts)]
    metric = CHRF()
    means = [sum(metric.sentence_score(text, [other]).score for other in texts) for text in texts]
    found = least_risk(replace(samples[0], alternatives=tuple(samples[1:])))
    assert found.text == texts[means.index(max(means))]
    assert found.alternatives == ()
