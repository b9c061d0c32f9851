"""Lexical constraints: phrases that a hypothesis has to contain.

A phrase may have several forms (`lamp`, `lamps`), of which one is enough. A hypothesis contains a phrase if the tokens
of a form are consecutive in it.
"""

from collections.abc import Sequence
from typing import NamedTuple

from limelight.errors import UserError
from limelight.tokens.tokenizer import END

MAX_PHRASES = 64
MAX_FORMS = 200
"""Maximum number of forms of a phrase."""


class Phrase(NamedTuple):
    """A phrase to include: one of these token sequences has to occur."""

    forms: tuple[tuple[int, ...], ...]
    joined: frozenset[int] = frozenset()
    """Tokens that must not follow, because they would continue its last word."""
    silent: frozenset[int] = frozenset()
    """Tokens without text: `joined` ones must not follow after them either."""


def check_phrases(phrases: Sequence[Phrase], output_size: int) -> None:
    """Raise `UserError` for too many phrases or forms, and for tokens that cannot occur."""
    if len(phrases) > MAX_PHRASES:
        raise UserError(f"{len(phrases)} phrases to include: the maximum is {MAX_PHRASES}")
    for phrase in phrases:
        if not 0 < len(phrase.forms) <= MAX_FORMS:
            raise UserError(f"a phrase to include has from 1 to {MAX_FORMS} forms: give others")
        for form in phrase.forms:
            if not form or min(form) < 0 or max(form) >= output_size or END in form:
                raise UserError(
                    f"a phrase has the ids [{', '.join(map(str, form))}]: it has tokens, and a token is an id from 0 "
                    f"to {output_size - 1} other than {END}, the end"
                )


State = tuple[int, ...] | None
"""The longest beginning of a form with which the tokens so far end; None for a phrase that is contained, whatever
follows."""


class Automaton:
    """Tracks the beginnings of the forms of a phrase (Aho and Corasick 1975)."""

    def __init__(self, phrase: Phrase) -> None:
        rests: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
        for form in phrase.forms:
            for size in range(len(form) + 1):
                rests.setdefault(form[:size], []).append(form[size:])
        self.needed: dict[State, int] = {}
        """The minimum number of tokens that complete a form."""
        self.wanted: dict[State, set[int]] = {}
        """Tokens that continue or begin a form."""
        for state in rests:
            # A suffix is a state only if it begins as a form does.
            starts = [size for size in range(len(state)) if (state[size],) in rests] + [len(state)]
            possible = [rest for size in starts for rest in rests.get(state[size:], ())]
            self.needed[state] = min(map(len, possible))
            self.wanted[state] = {rest[0] for rest in possible if rest}
        self._joined, self._silent = phrase.joined - self.wanted[()], phrase.silent

    def after(self, state: State, token: int) -> State:
        """The state after one more token; the end token never continues a word."""
        if state is None or (self.needed[state] == 0 and token not in self._joined):
            return state if token in self._silent else None
        state = (*state, token)
        while state not in self.needed:
            state = state[1:]
        return state


States = tuple[State, ...]
"""The state of each phrase for a hypothesis."""


class Needs(NamedTuple):
    """The tokens that a hypothesis still needs."""

    states: States
    missing: int
    """Number of tokens of phrases that it does not contain yet; it may end where none is missing."""
    least: int
    """Lower bound of the tokens needed: one may belong to several phrases."""
    most: int
    """Upper bound of the tokens needed: one phrase is completed, the others start again."""


class Progress:
    """The automata of all phrases of a request."""

    def __init__(self, phrases: Sequence[Phrase]) -> None:
        begins = frozenset(form[0] for phrase in phrases for form in phrase.forms)
        self._automata = [Automaton(phrase._replace(joined=phrase.joined - begins)) for phrase in phrases]
        self._known: dict[tuple[States, int], Needs] = {}
        self.begin = self._needs(((),) * len(self._automata))
        """The needs before the first token."""

    def after(self, states: States, token: int) -> Needs:
        """The needs after one more token."""
        if (states, token) not in self._known:
            pairs = zip(self._automata, states, strict=True)
            self._known[states, token] = self._needs(tuple(automaton.after(state, token) for automaton, state in pairs))
        return self._known[states, token]

    def wanted(self, states: States) -> set[int]:
        """Tokens that continue or begin a phrase."""
        pairs = zip(self._automata, states, strict=True)
        return {token for automaton, state in pairs if state is not None for token in automaton.wanted[state]}

    def _needs(self, states: States) -> Needs:
        unmet = [
            (automaton, state) for automaton, state in zip(self._automata, states, strict=True) if state is not None
        ]
        missing = [automaton.needed[state] for automaton, state in unmet]
        lengths = [automaton.needed[()] for automaton, _ in unmet]
        # Either a phrase that is begun is completed first, then all others, or all start again.
        begun = [sum(lengths) - all_of_it + left for all_of_it, left in zip(lengths, missing, strict=True) if left]
        restarted = sum(all_of_it for all_of_it, left in zip(lengths, missing, strict=True) if left)
        return Needs(states, sum(missing), max(missing, default=0), min([restarted, *begun]))
