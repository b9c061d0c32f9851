"""How good a model is: corpus scores with signatures, by source length, and the probability of given translations."""

from limelight.evaluation.evaluate import Evaluation, evaluate
from limelight.evaluation.lengths import LengthBucket, score_by_length
from limelight.evaluation.metrics import Metric, corpus_bleu, corpus_chrf
from limelight.evaluation.score import PairScore, PieceScores, perplexity, score_pairs, score_pieces

__all__ = [
    "Evaluation",
    "LengthBucket",
    "Metric",
    "PairScore",
    "PieceScores",
    "corpus_bleu",
    "corpus_chrf",
    "evaluate",
    "perplexity",
    "score_by_length",
    "score_pairs",
    "score_pieces",
]
