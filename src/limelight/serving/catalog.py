"""The models of a service, and which of them translates from one language into another."""

import asyncio
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from limelight.config import Direction
from limelight.config.directions import same_language, usual_code
from limelight.serving.pool import Pool, unavailable
from limelight.serving.refusal import Refusal, bad_request


class Model:
    """A model that is served."""

    def __init__(self, name: str, pool: Pool, folder: str = "") -> None:
        self.name, self.pool, self.folder, self._reloading = name, pool, folder, asyncio.Lock()

    async def reload(self, new: Pool) -> bool:
        """Load the model into a new pool, which takes the place of the present one when all its engines are ready; that
        one ends after its requests. Returns whether it was loaded. One reload at a time."""
        async with self._reloading:
            new.start()
            await new.complete.wait()
            old = new
            if new.ready:
                old, self.pool = self.pool, new
                await old.drained()
            for link in old.close():
                link.join(0.0)
            return old is not new

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The directions of the model; empty while it loads, and if its languages are not named."""
        return tuple(Direction(*names) for names in self.pool.info.get("directions", ()))

    @property
    def pivots(self) -> dict[Direction, str]:
        """Pairs of languages that it translates through another one, which is the value."""
        return {Direction(source, target): between for source, between, target in self.pool.info.get("pivots", ())}

    @property
    def use(self) -> str:
        """Its task, by the name of the command: `translate`, `generate` or `fill`."""
        return str(self.pool.info.get("use", "translate"))


class Way(NamedTuple):
    """A model and a direction that it translates in; the languages are empty where they have no names."""

    model: Model
    direction: Direction

    @property
    def changes_nothing(self) -> bool:
        """Whether it leads from a language into itself, without a model for that: texts come back as they are."""
        source, target = self.direction
        return bool(source) and source == target and self.direction not in self.model.directions

    @property
    def languages(self) -> dict[str, str]:
        """Options of the engine."""
        return {"source_lang": self.direction.source, "target_lang": self.direction.target}


class Catalog(NamedTuple):
    """All models of a service, in the order of the command line."""

    models: Sequence[Model]

    @property
    def translators(self) -> tuple[Model, ...]:
        """The models that translate."""
        return tuple(model for model in self.models if model.use == "translate")

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The directions of all models, each once; then the pairs that a model translates through a third language.
        Raises `Refusal` as `require_known` does."""
        self.require_known()
        by_model = chain((model.directions for model in self.models), (model.pivots for model in self.models))
        return tuple(dict.fromkeys(chain.from_iterable(by_model)))

    def require_known(self) -> None:
        """Raises `Refusal`, 503, while a model loads: clients keep a list of languages, and an empty one for days."""
        if any(model.pool.loading for model in self.models) or not any(model.pool.info for model in self.models):
            raise _loading()

    def find(self, name: str) -> Model:
        """The model of this name. Raises `Refusal`, 404, with the known names."""
        for model in self.models:
            if model.name == name:
                return model
        listed = ", ".join(model.name for model in self.models)
        raise Refusal(404, "model_not_found", f"there is no model of this name; there are: {listed}")

    def ways(self, source: str, target: str, name: str = "", *, pivot: bool = True) -> list[Way]:
        """Every way from `source` (from any language, where it is empty) to `target`; at most one for each source. With
        `pivot`, into a language that is named, also through another one where no model has the direction, and from a
        language into itself, which changes nothing.

        Raises `Refusal`, 400, where there is none: it names a language that is not known, or what leads there.
        """
        models = [self.find(name)] if name else self.translators
        if any(model.use != "translate" for model in models):
            raise bad_request(f"{name} does not translate: it is a model for `limelight {models[0].use}`")
        known = [model for model in models if model.pool.info]  # what others translate is not known
        direct = [Way(model, direction) for model in known for direction in model.directions or [Direction("", "")]]
        through = [Way(model, direction) for model in known for direction in model.pivots if pivot and target]
        ways = [way for way in (*direct, *through) if all(map(_fits, (source, target), way.direction))]
        if not ways and pivot and source and same_language(source, target):
            itself = [(model, code) for model in models for code in chain.from_iterable(model.directions)]
            ways = [Way(model, Direction(code, code)) for model, code in itself if same_language(code, target)][:1]
        if not ways:
            raise _no_way(models, source, target)
        targets = {way.direction.target for way in ways}
        if not target and len(targets) > 1:
            raise bad_request(f"into which language? Give one of: {', '.join(sorted(targets))}", "target_missing")

        def rank(way: Way) -> tuple[bool, bool, int]:
            """Direct ones first, of these with an engine, of these with exactly the languages: `pt-BR` beside `pt`."""
            languages = zip((source, target), way.direction, strict=True)
            others = sum(usual_code(asked) != usual_code(own) for asked, own in languages)
            return way in through, not way.model.pool.usable, others

        by_source = dict[str, Way]()
        for way in sorted(ways, key=rank):
            by_source.setdefault(way.direction.source, way)
        return list(by_source.values())


def _loading() -> Refusal:
    return Refusal(503, "loading", "the models are loading: try again later", retry_after=5)


def _no_way(models: Sequence[Model], source: str, target: str) -> Refusal:
    if not models:
        return bad_request("no model of this service translates")
    if any(model.pool.loading for model in models):  # one of them may have a way
        return _loading()
    if not any(model.pool.info for model in models):
        return unavailable()
    directions = [direction for model in models for direction in model.directions]
    for requested, side in ((source, 0), (target, 1)):
        known = {direction[side] for direction in directions}
        if requested and not any(same_language(requested, language) for language in known):
            languages = ", ".join(sorted(known)) or "one whose languages have no names"
            return bad_request(f"{requested[:20]} is not supported; supported are: {languages}", "language")
    pairs = ", ".join(map(str, directions))
    return bad_request(f"{target[:20]} is not available from {source[:20]}; available are: {pairs}", "language")


def _fits(requested: str, language: str) -> bool:
    return not requested or same_language(requested, language)
