"""The checks of jaxtyping and beartype, each done once for each kind of call.

What they find depends on the types, shapes and dtypes of what is passed and returned, not on the numbers in a tensor. A
call of a kind that was checked before runs the bare function: checks took most of the time of attention over a few
tokens.
"""

import dataclasses
import functools
import inspect
import re
import threading
import types
from collections.abc import Callable, Collection, Hashable
from typing import Any

import jaxtyping
import numpy as np
import torch
from torch import nn

MAX_KINDS = 10_000
"""Of calls of one function that are remembered."""
MAX_ITEMS = 16
"""Of a list, tuple or dictionary; calls with longer ones are always checked."""

ALWAYS = re.compile(r"\{|Literal")
"""In annotations that depend on the value of an argument, too, as `"{batch} width"` does: each call is checked."""
ONE_ITEM = re.compile(r", \.\.\.\]|Sequence|Iterable|Iterator|Collection")
"""In annotations of which beartype checks a single item, at random. Where items differ, each call is checked."""

KNOWN: dict[tuple[str, str, int], dict[Hashable, set[Hashable]]] = {}
"""The kinds of calls that were checked of functions within others: of what was passed, and of what was returned."""

Function = Callable[..., Any]


class Unknown(Exception):  # noqa: N818 - it is no error
    """The kind of a value is not known from its parts."""


def check_each_kind_once() -> None:
    """From now on `jaxtyping.jaxtyped`, which the import hook puts above functions, checks each kind of call once."""
    jaxtyped = jaxtyping.jaxtyped
    jaxtyping.jaxtyped = lambda **options: functools.partial(_decorated, checking=jaxtyped(**options))


def _decorated(function: Any, checking: Function) -> Any:
    if inspect.isclass(function) and dataclasses.is_dataclass(function):
        if not hasattr(function.__init__, "checks"):  # its own, or that of a class without checks
            function.__init__ = _decorated(function.__init__, checking)
        return function
    annotations = " ".join(map(str, getattr(function, "__annotations__", {}).values()))
    if not inspect.isfunction(function) or ALWAYS.search(annotations):
        return checking(function)
    code = function.__code__
    # a function within another one is defined anew by each call, with the same annotations
    known = (
        KNOWN.setdefault((code.co_filename, code.co_qualname, code.co_firstlineno), {})
        if "<locals>" in code.co_qualname
        else {}
    )
    checks = functools.cache(lambda: _checked(function, checking))  # they take milliseconds to make
    find = _alike if ONE_ITEM.search(annotations) else kind_of

    @functools.wraps(function)
    def once(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        # Tensors are looked at here, without a call for each: this is most of what known kinds of calls cost.
        parts: list[Hashable] = []
        try:
            for value in args:
                parts += (value.dtype, value.shape) if type(value) is torch.Tensor else (find(value),)
            for name, value in kwargs.items():
                parts += (name, value.dtype, value.shape) if type(value) is torch.Tensor else (name, find(value))
        except Unknown:
            return checks()[0](*args, **kwargs)
        kind = tuple(parts)
        results = known.get(kind)
        result = checks()[0](*args, **kwargs) if results is None else function(*args, **kwargs)
        try:
            returned = (result.dtype, result.shape) if type(result) is torch.Tensor else find(result)
        except Unknown:
            returned = Unknown
        if results is None:
            if len(known) < MAX_KINDS and returned is not Unknown:
                known[kind] = {returned}
        elif returned not in results:
            checks()[1](result, args, kwargs)
            if returned is not Unknown:
                results.add(returned)
        return result

    once.checks = checks
    return once


def _checked(function: Function, checking: Function) -> tuple[Function, Callable[..., None]]:
    """The function with its checks, and the checks of a result that it has returned."""
    given, nothing = threading.local(), object()

    def called(*args: Any, **kwargs: Any) -> Any:
        result = given.__dict__.pop("result", nothing)
        return function(*args, **kwargs) if result is nothing else result

    # with the globals of the function, in which its annotations are looked up
    own = types.FunctionType(called.__code__, function.__globals__, function.__name__, None, called.__closure__)
    checked = checking(functools.update_wrapper(own, function))

    def check_result(result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        given.result = result
        try:
            checked(*args, **kwargs)
        finally:
            given.__dict__.pop("result", None)

    return checked, check_result


def kind_of(value: Any) -> Hashable:
    """What a check may depend on. Raises `Unknown` if that is not known from at most `MAX_ITEMS` parts."""
    kind = type(value)
    find = KINDS.get(kind)
    if find is None:
        find = KINDS[kind] = _finder(kind)
    return find(value)


def _alike(value: Any) -> Hashable:
    """The same; `Unknown` for a tuple whose items differ."""
    found = kind_of(value)
    return _require_alike(found) if type(value) is tuple else found


def _finder(kind: type) -> Callable[[Any], Hashable]:
    """How the kind of a value of this type is found."""
    if issubclass(kind, torch.Tensor | np.ndarray):
        return lambda value: (kind, value.dtype, value.shape)
    if kind is tuple:
        return lambda value: (kind, *map(kind_of, _few(value)))
    if kind is list:
        return lambda value: _require_alike((kind, *map(kind_of, _few(value))))
    if kind is dict:
        return lambda value: _require_alike((kind, *map(kind_of, _few(value).items())))
    named = issubclass(kind, tuple) and hasattr(kind, "_fields")
    if named or issubclass(kind, nn.Module | str) or not issubclass(kind, Collection):
        return lambda value: kind
    return _unknown


def _few(items: Any) -> Any:
    if len(items) > MAX_ITEMS:
        raise Unknown
    return items


def _require_alike(kind: tuple[Hashable, ...]) -> Hashable:
    """A kind whose parts after the type are all the same."""
    if len(kind) > 2 and len(set(kind[1:])) > 1:
        raise Unknown
    return kind


def _unknown(_value: Any) -> Hashable:
    raise Unknown


KINDS: dict[type, Callable[[Any], Hashable]] = {}
"""By type, as they come."""
