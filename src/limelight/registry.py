"""Registries: parts of the package by the names that settings have for them. Plugins add their own."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, Generic, TypeVar, cast

from limelight.errors import UserError
from limelight.plugins import load_plugins

Part = TypeVar("Part")
Given = TypeVar("Given")


class Registry(Generic[Part]):
    """Parts of one kind by name; `module:name` is imported when it is used. `kind` is a word for messages."""

    def __init__(self, kind: str, parts: dict[str, Part | str]) -> None:
        self.kind, self.parts = kind, parts

    def register(self, name: str) -> Callable[[Given], Given]:
        """A decorator that adds a part. One of the same module and name is replaced, as in a notebook whose cell is run
        again. Raises `UserError` for the name of another part."""

        def add(part: Given) -> Given:
            former = self.parts.get(name)
            if former is not None and _origin(former) != _origin(part):
                raise UserError(f"there is already a {self.kind} {name!r}; take another name")
            self.parts[name] = part  # type: ignore[assignment]  # checked where it is used
            return part

        return add

    def has(self, name: str) -> bool:
        """Whether there is a part of this name. Imports plugins if it is unknown otherwise."""
        if name not in self.parts:
            load_plugins()
        return name in self.parts

    def find(self, name: str) -> Part:
        """The part of this name. Raises `UserError` for an unknown name."""
        if not self.has(name):
            known = f"choose from {', '.join(self.parts)}, or " if self.parts else ""
            raise UserError(f"unknown {self.kind} {name!r}; {known}name its --plugin")
        part = self.parts[name]
        if isinstance(part, str):
            part = resolve(part)
        return cast(Part, part)


def resolve(path: str) -> Any:
    """Import and return the object that `module:name` refers to."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def _origin(part: object) -> tuple[object, object]:
    return getattr(part, "__module__", None), getattr(part, "__qualname__", None)
