"""Lexical constraints: phrases that a hypothesis has to contain, or must not contain.

A phrase may have several forms (`lamp`, `lamps`), of which one is enough. A hypothesis contains a phrase if the tokens
of a form are consecutive in it. Progress is the state of an automaton (Aho and Corasick 1975): the longest prefix of a
form with which the hypothesis ends.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from limelight.errors import UserError

DONE = -1
"""The final state of a phrase, which is contained whatever tokens follow."""
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


class Constraints(NamedTuple):
    """Phrases that the output of a request has to contain, and phrases that it must not contain."""

    include: tuple[Phrase, ...] = ()
    exclude: tuple[tuple[int, ...], ...] = ()

    @property
    def length(self) -> int:
        """A number of tokens that is sufficient for all phrases."""
        return sum(max(map(len, phrase.forms), default=0) for phrase in self.include)

    @property
    def tokens(self) -> set[int]:
        """The tokens of all phrases to include."""
        return {token for phrase in self.include for form in phrase.forms for token in form}

    def checked(self, end_id: int, output_size: int) -> "Constraints":
        """The constraints without forms that contain an excluded phrase. Raises `UserError` for a phrase without any
        possible form."""
        if len(self.include) > MAX_PHRASES:
            raise UserError(f"{len(self.include)} phrases to include: the maximum is {MAX_PHRASES}")
        for run in (*self.exclude, *(form for phrase in self.include for form in phrase.forms)):
            if not run:
                raise UserError("a phrase to include or exclude has no tokens")
            if min(run) < 0 or max(run) >= output_size or end_id in run:
                raise UserError(
                    f"a phrase has the ids {', '.join(map(str, run))}: a token is an id from 0 to {output_size - 1} "
                    f"other than {end_id}, the end"
                )
        possible = []
        for phrase in self.include:
            forms = tuple(form for form in phrase.forms if not any(contains(form, run) for run in self.exclude))
            if not forms or len(forms) > MAX_FORMS:
                fault = "contains an excluded phrase" if not forms else f"has more than {MAX_FORMS} forms"
                raise UserError(f"a phrase to include {fault}: give other forms")
            possible.append(phrase._replace(forms=forms))
        return self._replace(include=tuple(possible))


def contains(tokens: Sequence[int], run: Sequence[int]) -> bool:
    """Whether `run` is a contiguous subsequence of `tokens`."""
    return any(tuple(tokens[place : place + len(run)]) == tuple(run) for place in range(len(tokens) - len(run) + 1))


class Automaton:
    """Tracks the longest prefix of a form with which the tokens so far end, as a state; 0 is the initial state."""

    def __init__(self, phrase: Phrase) -> None:
        self._next: list[dict[int, int]] = [{}]
        whole = [False]
        for form in phrase.forms:
            state = 0
            for token in form:
                if token not in self._next[state]:
                    self._next[state][token] = len(self._next)
                    self._next.append({})
                    whole.append(False)
                state = self._next[state][token]
            whole[state] = True
        self.begins = frozenset(self._next[0])
        """Tokens that begin a form."""
        self._joined, self._silent = phrase.joined - self.begins, phrase.silent
        self._shorter = self._suffixes()
        self.needed = self._distances(whole)
        """For each state the minimum number of tokens that complete a form."""

    def after(self, state: int, token: int) -> int:
        """The state after one more token; the end token never continues a word."""
        if state == DONE or (self.needed[state] == 0 and token not in self._joined):
            return state if token in self._silent else DONE
        while token not in self._next[state]:
            if state == 0:
                return 0
            state = self._shorter[state]
        return self._next[state][token]

    def wanted(self, state: int) -> set[int]:
        """Tokens that continue or begin a form."""
        tokens = set(self.begins)
        while state:
            tokens |= self._next[state].keys()
            state = self._shorter[state]
        return tokens

    def _suffixes(self) -> list[int]:
        """For each state the state of its longest proper suffix that is a prefix of a form."""
        shorter = [0] * len(self._next)
        states = list(self._next[0].values())
        for state in states:  # the list grows during the loop: breadth-first search
            for token, child in self._next[state].items():
                other = shorter[state]
                while other and token not in self._next[other]:
                    other = shorter[other]
                shorter[child] = self._next[other].get(token, 0)
                states.append(child)
        return shorter

    def _distances(self, whole: Sequence[bool]) -> list[int]:
        needed = [0 if is_whole else len(self._next) for is_whole in whole]
        changed = True
        while changed:
            changed = False
            for state in reversed(range(len(needed))):
                nearer = [1 + needed[child] for child in self._next[state].values()] if needed[state] else []
                best = min([needed[state], needed[self._shorter[state]], *nearer])
                changed |= best < needed[state]
                needed[state] = best
        return needed


States = tuple[int, ...]
"""The state of each phrase for a hypothesis."""


class Needs(NamedTuple):
    """The tokens that a hypothesis still needs."""

    states: States
    missing: int
    """Number of tokens of phrases that it does not contain yet."""
    least: int
    """Lower bound of the tokens needed: one may belong to several phrases."""
    most: int
    """Upper bound of the tokens needed: one phrase is completed, the others start again."""

    @property
    def nothing(self) -> bool:
        """Whether the hypothesis may end: all phrases are complete."""
        return self.missing == 0


class Progress:
    """The automata of all phrases of a request."""

    def __init__(self, phrases: Iterable[Phrase]) -> None:
        several = list(phrases)
        begins = frozenset(form[0] for phrase in several for form in phrase.forms)
        self._automata = [Automaton(phrase._replace(joined=phrase.joined - begins)) for phrase in several]
        self._known: dict[tuple[States, int], Needs] = {}
        self.begin = self._needs((0,) * len(self._automata))
        """The needs before the first token."""

    def after(self, states: States, token: int) -> Needs:
        """The needs after one more token."""
        found = self._known.get((states, token))
        if found is None:
            pairs = zip(self._automata, states, strict=True)
            found = self._needs(tuple(each.after(state, token) for each, state in pairs))
            self._known[states, token] = found
        return found

    def wanted(self, states: States) -> set[int]:
        """Tokens that continue or begin a phrase."""
        pairs = zip(self._automata, states, strict=True)
        return {token for each, state in pairs if state != DONE for token in each.wanted(state)}

    def _needs(self, states: States) -> Needs:
        unmet = [(each, state) for each, state in zip(self._automata, states, strict=True) if state != DONE]
        missing = [each.needed[state] for each, state in unmet]
        whole = [each.needed[0] for each, _ in unmet]
        # Either a phrase that is begun is completed first, then all others, or all start again.
        begun = [sum(whole) - all_of_it + left for all_of_it, left in zip(whole, missing, strict=True) if left]
        restarted = sum(all_of_it for all_of_it, left in zip(whole, missing, strict=True) if left)
        return Needs(states, sum(missing), max(missing, default=0), min([restarted, *begun]))
