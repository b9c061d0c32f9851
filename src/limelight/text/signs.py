"""Letters and signs that a vocabulary of European languages should contain as tokens of their own.

A character without a token is spelled in bytes or unknown. Models rarely learn the bytes of rare characters.
"""

from unicodedata import normalize

ASCII = "".join(map(chr, range(0x21, 0x7F)))
LATIN_1 = "".join(chr(code) for code in range(0xA1, 0x100) if code != 0xAD)
"""Without the soft hyphen, which is invisible."""
LATIN_EXTENDED_A = "".join(each for each in map(chr, range(0x100, 0x180)) if normalize("NFC", each) == each)
"""The letters of names from Central Europe, the Baltic states and Turkey; contains those of Latin-9."""
PUNCTUATION = "‐‑‒–—―‘’‚‛“”„‟†‡•…‰′″‹›⁄"
CURRENCY = "₣₤₦₩₪₫€₱₴₹₺₽₿"
ARROWS = "←↑→↓↔↕↵⇐⇑⇒⇓⇔➔➜"
MATHEMATICS = "−∙√∞∑∏∂∫∆∇∈∉∩∪⊂∅∀∃∧∨¬≈≠≡≤≥⁰⁴⁵⁶⁷⁸⁹⁺⁻ⁿ₀₁₂₃₄₅₆₇₈₉⅓⅔⅛⅜⅝⅞"
BULLETS = "■□▪▫▲△▶►▼▽◀◄◆◇○●◦★☆☐☑☒✓✔✗✘"
LETTERLIKE = "℃℉ℓ№℗℠™Ω℮"
GREEK = "αβγδεζηθλμνξπρστφχψωΓΔΘΛΣΦΨ"
"""As symbols in formulas."""

SIGNS = "".join(
    dict.fromkeys(
        normalize(
            "NFC",
            ASCII
            + LATIN_1
            + LATIN_EXTENDED_A
            + PUNCTUATION
            + CURRENCY
            + ARROWS
            + MATHEMATICS
            + BULLETS
            + LETTERLIKE
            + GREEK,
        )
    )
)
"""All of them, each once."""
