"""What the figures of an evaluation mean, in a few sentences for people who have never seen them."""

_STEPS = (
    (60, "translations are very close to the references; make sure that the model was not trained on this text"),
    (40, "translations are mostly good, and close to the references"),
    (30, "translations can usually be understood, with errors"),
    (20, "the gist of a translation is often clear, with many errors"),
    (10, "the topic of a sentence can often be recognized, what it says often not"),
    (0, "most translations are of little use"),
)
"""From which BLEU, and what that usually means. The steps are those of Google's documentation of AutoML Translation."""
_IN_WORDS = ("13a", "intl", "zh", "ja-mecab", "ko-mecab", "none")
"""Tokenizations with scores on that scale; BLEU over characters or subwords is higher."""
FEW, ENOUGH = 100, 500
"""Sentences: with fewer than `FEW` a score may be off by several points; `ENOUGH` are what a small test set has."""
MANY_UNFINISHED = 0.05


def summarize_translation(bleu: float, *, tokenize: str, sentences: int, unfinished: int) -> str:
    """The meaning of a BLEU from 0 to 100, in lines of text."""
    if tokenize in _IN_WORDS:
        meaning = next(text for least, text in _STEPS if bleu >= least)
        lines = [f"In short: at BLEU {bleu:.1f}, {meaning}. This is a rule of thumb."]
    else:
        lines = [f"In short: this BLEU counts smaller units than words ({tokenize}) and is higher than one of words."]
    lines.append("Read some translations yourself (-o FILE keeps them), and compare scores of the same test set only.")
    if sentences < FEW:
        lines.append(f"{sentences:,} sentences are few: the score may be off by several points. Use {ENOUGH} or more.")
    if unfinished > MANY_UNFINISHED * sentences:
        lines.append(f"{unfinished:,} translations were cut off at the length limit: look for repeated words in them.")
    return "\n".join(lines)


def summarize_labels(accuracy: float, most_frequent: float) -> str:
    """Both in percent: texts with the right answer, and texts that have the most frequent label."""
    return (
        f"In short: {accuracy:.0f} of 100 texts get the right label. To give all of them the most frequent label would "
        f"be right for {most_frequent:.0f} of 100."
    )


def summarize_text(bits_per_byte: float) -> str:
    """How far the predictions of a language model are from knowing nothing."""
    return (
        f"In short: the model needs {bits_per_byte:.2f} bits for each byte of this text. Lower is better: 8 is to know "
        "nothing, 0 is to know every next letter."
    )
