"""Jobs: the translation of a text as requests to an engine.

    for ask in job.take(16):                        # requests of different sentences
        while ask is not None:
            ask = job.receive(ask, hypotheses of ask.request)
    job.result

Each sentence is a generator that yields one request at a time, is sent its hypotheses, and returns what became of it.
So a sentence is searched again with other settings as soon as its own search is over, whatever the others do.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from threading import Lock
from typing import Generic, NamedTuple, TypeVar

from limelight.decoding.request import Hypothesis, Request
from limelight.formats.unit import Unit
from limelight.text.marking import Role

BLANK = "the text is blank: there is nothing to attend to; give a sentence"
"""The error of explanations and maps."""

Found = TypeVar("Found")
Result = TypeVar("Result")

Steps = Generator[Request, list[Hypothesis], Found]
"""Yields requests, is sent the hypotheses of each, best first, and returns a result."""


class Text(NamedTuple):
    """A text to translate."""

    text: str
    number: int = 1
    """Its number in the input, for messages and for sampling: text n draws from the random stream (n,), its sentences
    after the first one from (n, 1), (n, 2), ..."""
    prefix: str = ""
    """Forced beginning of the translation. The text is one sentence then."""
    codes: tuple[tuple[Role, str], ...] = ()
    """Role and name of each code in the text, see `formats/unit.py`."""
    units: Sequence[Unit] | None = None
    """The parts of a text with tags that are translated; the rest of it stays as it is. Their numbers count from that
    of the text."""


class Ask(NamedTuple):
    """A search that a sentence needs."""

    sentence: int
    request: Request


class Job(Generic[Found, Result]):
    """The work on one text. Requests of its sentences are found in any order, also by several threads.

    Args:
        sentences: the steps of each sentence, made on demand.
        join: makes the result from the results of the sentences.
    """

    def __init__(self, sentences: Iterable[Steps[Found]], join: Callable[[Sequence[Found]], Result]) -> None:
        self.error: Exception | None = None
        """Why there is no result."""
        self._coming, self._join, self._lock = enumerate(sentences), join, Lock()
        self._ready: deque[Ask] = deque()
        self._running: dict[int, Steps[Found]] = {}
        self._found: dict[int, Found] = {}
        self._result: Result | None = None
        self._count, self._all_begun = 0, False
        with self._lock:
            self._begin(1)

    @property
    def done(self) -> bool:
        """Whether there is an error, or a result can be made."""
        return self.error is not None or (self._all_begun and not self._running)

    @property
    def result(self) -> Result | None:
        """The result, which is made at the first access, as this takes time for a long text. None before the work is
        done, and with an error."""
        if self._result is None and self.done and self.error is None:
            self._result = self._join(self.found)
        return self._result

    @property
    def count(self) -> int:
        """The number of sentences before the first one without a result."""
        while self._count in self._found:
            self._count += 1
        return self._count

    @property
    def found(self) -> list[Found]:
        """The results of the first `count` sentences."""
        return [self._found[number] for number in range(self.count)]

    def take(self, most: int) -> list[Ask]:
        """At most `most` requests that have not been taken yet."""
        with self._lock:
            self._begin(most)
            return [self._ready.popleft() for _ in range(min(most, len(self._ready)))]

    def receive(self, ask: Ask, hypotheses: list[Hypothesis]) -> Ask | None:
        """Receive the hypotheses of a request; returns the next search of its sentence, if it needs another one."""
        if self.done:  # another sentence has failed
            return None
        steps = self._running[ask.sentence]
        try:
            return Ask(ask.sentence, steps.send(hypotheses))
        except StopIteration as end:
            with self._lock:
                del self._running[ask.sentence]
                self._found[ask.sentence] = end.value
                if not self._running:
                    self._begin(1)
        except Exception as error:
            self.fail(error)
        return None

    def fail(self, error: Exception) -> None:
        """End without a result."""
        self.error = error
        self._ready.clear()

    def _begin(self, most: int) -> None:
        """Begin further sentences, until `most` requests are ready."""
        try:
            while len(self._ready) < most and not (self._all_begun or self.error):
                number, steps = next(self._coming, (-1, None))
                if steps is None:
                    self._all_begun = True
                    break
                try:
                    self._ready.append(Ask(number, next(steps)))
                    self._running[number] = steps
                except StopIteration as end:
                    self._found[number] = end.value
        except Exception as error:
            self.fail(error)
