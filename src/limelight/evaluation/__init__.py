"""Quality of models: corpus scores with signatures, scores by source length, and the probability of given
translations."""

from limelight.evaluation.evaluate import Evaluation, evaluate
from limelight.evaluation.heads import study_heads
from limelight.evaluation.metrics import Metric, corpus_bleu, corpus_chrf
from limelight.evaluation.score import PairScore, TokenScores, perplexity, score_pairs, score_tokens
from limelight.evaluation.summary import LengthBucket, score_by_length
from limelight.evaluation.text import TextEvaluation, evaluate_text

__all__ = [
    "Evaluation",
    "LengthBucket",
    "Metric",
    "PairScore",
    "TextEvaluation",
    "TokenScores",
    "corpus_bleu",
    "corpus_chrf",
    "evaluate",
    "evaluate_text",
    "perplexity",
    "score_by_length",
    "score_pairs",
    "score_tokens",
    "study_heads",
]
