"""Incremental decoding of tokens to text: only whole characters, and nothing that may begin a stop text."""

import codecs
from collections.abc import Sequence

from limelight.tokens import Tokenizer
from limelight.tokens.text import line_end

BYTE = "<0x"
"""Prefix of byte tokens such as `<0xE2>`."""


class Writer:
    """Decodes one text incrementally.

    Args:
        prompt: the ids before the text: they determine whether its first word has a space before it.
        stop: texts that end it and are not part of it. The first one that is complete ends the text, however it is
            divided into tokens.
        after_space: whether the prompt ended with a space that its ids do not contain: the text then begins without.
    """

    def __init__(
        self, tokenizer: Tokenizer, prompt: Sequence[int], *, stop: Sequence[str] = (), after_space: bool = False
    ) -> None:
        self._tokenizer, self._stop, self._after_space = tokenizer, tuple(stop), after_space
        self._line = line_end(tokenizer)
        begin = max((place + 1 for place, number in enumerate(prompt) if number == self._line), default=0)
        self._before = list(prompt[begin:])
        """Decoded tokens of the same line, as many as affect the decoding of the next one."""
        self._pending: list[int] = []
        """Tokens that are not decoded yet."""
        self._bytes = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        """Decoded text that may be the beginning of a stop text."""
        self.stopped = False

    def hear(self, token: int) -> str:
        """Add a token; returns the text that is certain after it."""
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
        """The remaining text, after the last token."""
        self._held += self._read()
        text = self._certain() + ("" if self.stopped else self._held)
        self._held = ""
        return text

    def _within_character(self, token: int) -> bool:
        """Whether the character of this byte token needs more bytes."""
        name = self._tokenizer.pieces([token])[0]
        if len(name) != 6 or not name.startswith(BYTE):
            self._bytes.reset()
            return False
        self._bytes.decode(bytes([int(name[3:5], 16)]))
        return bool(self._bytes.getstate()[0])

    def _read(self) -> str:
        """The text of the pending tokens."""
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
        """The part of the held text that cannot begin a stop text, or the text before a complete one."""
        ends = [(self._held.find(stop) + len(stop), -len(stop)) for stop in self._stop if stop in self._held]
        if ends:
            end, length = min(ends)
            text, self._held, self.stopped = self._held[: end + length], "", True
            return text
        begun = (size for stop in self._stop for size in range(1, len(stop)) if self._held.endswith(stop[:size]))
        certain = len(self._held) - max(begun, default=0)
        text, self._held = self._held[:certain], self._held[certain:]
        return text
