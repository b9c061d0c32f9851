"""From tokens to text as they come: whole characters only, and nothing that may be the beginning of a stop text."""

import codecs
from collections.abc import Sequence

from limelight.tokens import Tokenizer
from limelight.tokens.text import line_end

BYTE = "<0x"
"""How a token that stands for a byte begins: `<0xE2>`."""


class Writer:
    """One text as it is written.

    Args:
        prompt: the ids it goes on from: they decide whether its first word has a space before it.
        stop: texts that end it, which are no part of it. What counts is which of them is complete first, however the
            text is divided into tokens.
        after_space: whether the prompt ended with a space that its ids do not know of: the text then begins without.
    """

    def __init__(
        self, tokenizer: Tokenizer, prompt: Sequence[int], *, stop: Sequence[str] = (), after_space: bool = False
    ) -> None:
        self._tokenizer, self._stop, self._after_space = tokenizer, tuple(stop), after_space
        self._line = line_end(tokenizer)
        begin = max((place + 1 for place, number in enumerate(prompt) if number == self._line), default=0)
        self._before = list(prompt[begin:])
        """Tokens of the same line that are text already: as many as decide how the next one reads."""
        self._pending: list[int] = []
        """Tokens whose text is still to come."""
        self._bytes = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        """Text that a stop text may begin with."""
        self.stopped = False

    def hear(self, token: int) -> str:
        """The text that one more token makes certain."""
        if token == self._line:
            self._held += self._read() + "\n"
            self._before = []
            self._bytes.reset()
        else:
            self._pending.append(token)
            if self._within_character(token):
                return ""
            self._held += self._read()
        return self._certain()

    def rest(self) -> str:
        """What was held back, when no more tokens come."""
        self._held += self._read()
        text = self._certain() + ("" if self.stopped else self._held)
        self._held = ""
        return text

    def _within_character(self, token: int) -> bool:
        """Whether the character that this token belongs to needs more bytes."""
        name = self._tokenizer.pieces([token])[0]
        if len(name) != 6 or not name.startswith(BYTE):
            self._bytes.reset()
            return False
        self._bytes.decode(bytes([int(name[3:5], 16)]))
        return bool(self._bytes.getstate()[0])

    def _read(self) -> str:
        """The text of what is pending."""
        if not self._pending:
            return ""
        both = [*self._before, *self._pending]
        text = self._tokenizer.decode(both)[len(self._tokenizer.decode(self._before)) :]
        # White space alone may be taken for the beginning of a line, so something has to stand before it.
        self._before = self._pending if text.strip() else both
        self._pending = []
        if self._after_space:
            text, self._after_space = text.removeprefix(" "), False
        return text

    def _certain(self) -> str:
        """As much of the held text as no stop text can begin in, or all before one that is complete."""
        ends = [(self._held.find(stop) + len(stop), -len(stop)) for stop in self._stop if stop in self._held]
        if ends:
            end, length = min(ends)
            text, self._held, self.stopped = self._held[: end + length], "", True
            return text
        begun = (size for stop in self._stop for size in range(1, len(stop)) if self._held.endswith(stop[:size]))
        certain = len(self._held) - max(begun, default=0)
        text, self._held = self._held[:certain], self._held[certain:]
        return text
