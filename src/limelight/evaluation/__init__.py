"""Quality of models: corpus scores with signatures, scores by source length, and the probability of given
translations."""

from limelight.evaluation.evaluate import Evaluation, evaluate
from limelight.evaluation.metrics import corpus_bleu, corpus_chrf
from limelight.evaluation.score import perplexity, score_pairs, score_tokens
from limelight.evaluation.summary import score_by_length
from limelight.evaluation.text import evaluate_text

__all__ = [
    "Evaluation",
    "corpus_bleu",
    "corpus_chrf",
    "evaluate",
    "evaluate_text",
    "perplexity",
    "score_by_length",
    "score_pairs",
    "score_tokens",
]
