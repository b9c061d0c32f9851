"""Configuration files and command-line overrides.

Unknown keys are errors that suggest similar keys; loading never executes code.
"""

import difflib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from limelight.config.models import FAMILIES
from limelight.config.run import Corpus, RunConfig
from limelight.errors import UserError, shown
from limelight.files import cause
from limelight.untrusted import MAX_YAML_BYTES, read_plain, read_yaml, write_yaml

FORMAT = 2
"""Format of `config.yaml`. Format 1, which had no format key, is also read."""
RETIRED = {
    "training.processes",
    "training.average_of",
    "augmentation.memory",
    "data.states",
    "data.train.column",
    "data.valid.column",
    "data.general.column",
}
"""Settings of earlier versions that a stored configuration may still contain. They are ignored."""
MAX_FAULTS = 20
"""Maximum number of faults that one message lists."""


def load_config(path: str | Path) -> RunConfig:
    """Read a `config.yaml`. Raises `UserError` naming file, key, value and bound."""
    try:
        values = read_yaml(read_plain(Path(path), MAX_YAML_BYTES).decode("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        remedy = "if it is of a model or run, copy the whole folder again"
        raise UserError(f"{path}: cannot read the configuration: {cause(error)}; {remedy}") from None
    except ValueError as error:
        raise UserError(f"{path}: not valid YAML: {error}") from None
    if values is None:
        values = {}
    if not isinstance(values, dict):
        raise UserError(f"{path}: a configuration is a mapping of sections, this is a {type(values).__name__}")
    return config_from(values, where=str(path))


def dump_config(config: RunConfig) -> str:
    """The configuration as YAML with all settings. Raises `UserError` if it is too long to be read again."""
    text = write_yaml({"format": FORMAT, **config.model_dump(mode="json")})
    if len(text.encode()) > MAX_YAML_BYTES:
        raise UserError(
            f"the configuration has {len(text):,} characters, and at most {MAX_YAML_BYTES:,} bytes can be read again: "
            "name fewer files (join them, with data.documents=line for texts) or fewer languages"
        )
    return text


def config_from(values: dict[Any, Any], where: str = "configuration") -> RunConfig:
    """Validate plain values against the schema. Raises `UserError` that lists the faults, up to `MAX_FAULTS`."""
    stored = values.get("format", 1)
    if type(stored) is not int or not 1 <= stored <= FORMAT:
        raise UserError(
            f"{where}: format is {shown(repr(stored))}, and this version of Limelight reads formats 1 to {FORMAT}; use "
            "the version that wrote it, or a later one"
        )
    # `plugins` was written by version 0.2.0.
    current = {key: value for key, value in values.items() if key not in ("format", "plugins")}
    current = _without_retired(current) if "format" in values else current
    try:
        return RunConfig.model_validate(current)
    except ValidationError as error:
        model = current.get("model")
        family = str(model.get("family")) if isinstance(model, dict) else ""
        faults = [shown(_describe(fault, family), 500) for fault in error.errors()[:MAX_FAULTS]]
        more = [f"and {error.error_count() - MAX_FAULTS} more"] * (error.error_count() > MAX_FAULTS)
        raise UserError(f"{where}: " + "; ".join([*faults, *more])) from None


def _without_retired(value: Any, name: str = "") -> Any:
    """A stored value of this name, and all values in it, without retired settings."""
    if isinstance(value, list):
        return [_without_retired(item, name) for item in value]
    if not isinstance(value, dict):
        return value
    named = {key: f"{name}.{key}" if name else str(key) for key in value}
    return {key: _without_retired(value[key], named[key]) for key in value if named[key] not in RETIRED}


def override(config: RunConfig, assignments: Iterable[str]) -> RunConfig:
    """Apply `section.key=value` settings with values in YAML (`true`, `0.3`, `null`). Raises `UserError`."""
    values = config.model_dump(mode="json")
    family = config.model.family
    for assignment in assignments:
        name, equals, text = (part.strip() for part in assignment.partition("="))
        if not equals:
            raise UserError(f"--set {assignment}: write it as section.key=value, for example training.seed=7")
        *sections, key = name.split(".")
        holder: Any = values
        for section in sections:
            holder = holder.get(section) if isinstance(holder, dict) else None
            if isinstance(holder, list):
                raise UserError(f"--set {name}: {section} is a list; set the whole list, or use a file with --config")
        if not isinstance(holder, dict) or key not in holder:
            raise UserError(f"--set: {_unknown(name, family)}")
        if isinstance(holder[key], dict):
            keys = ", ".join(f"{name}.{setting}" for setting in holder[key])
            raise UserError(f"--set {name}: that is a section; set one of {keys}")
        value = _value(text, assignment)
        if name == "model.family" and value != family:
            raise UserError(f"--set {assignment}: the recipe's model is a {family}; choose another --recipe instead")
        holder[key] = value
    return config_from(values, where="--set")


def _value(text: str, assignment: str) -> Any:
    """A value parsed as YAML, except that `1e-3`, which YAML reads as text, becomes a number."""
    try:
        value = read_yaml(text)
    except ValueError:
        raise UserError(f"--set {assignment}: {text!r} is not a valid YAML value") from None
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def known_keys(family: str | None = None) -> list[str]:
    """All keys as `section.key`, for messages; with a family, only the keys of its models."""
    families = [kind for name, kind in FAMILIES.items() if family in (None, name)]
    keys = []
    for section, field in RunConfig.model_fields.items():
        kinds = families if section == "model" else [field.annotation]
        keys += [f"{section}.{key}" for kind in kinds for key in getattr(kind, "model_fields", ())]
    return list(dict.fromkeys(keys))


def _unknown(name: str, family: str) -> str:
    """The message for an unknown setting: one of this name in another section, or with a similar name."""
    known = [*known_keys(family), *(f"data.train.{key}" for key in Corpus.model_fields)]
    if name in known_keys():
        return f"{name} is not a setting of the model family {family}; choose a recipe of a family that has it"
    key = name.rpartition(".")[2]
    near = [candidate for candidate in known if candidate.rpartition(".")[2] == key]
    near = near or difflib.get_close_matches(re.sub(r"\.\d+", "", name), known, n=1, cutoff=0.75)
    settings = [candidate for candidate in known if candidate.startswith(name.partition(".")[0] + ".")]
    hint = (
        f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(settings or RunConfig.model_fields)}"
    )
    return f"unknown setting {name}; {hint}"


def _describe(fault: Any, family: str) -> str:
    """A readable message for one validation error: place, bound, value. `family` is the model's."""
    name = ".".join(map(str, fault["loc"]))
    if fault["type"] == "extra_forbidden":
        return _unknown(name, family)
    value = fault["input"]
    said = "" if isinstance(value, dict) else f", not {shown(repr(value))}"
    message = fault["msg"].removeprefix("Value error, ")  # raised by our own validators
    return f"{name}: {message[:1].lower()}{message[1:]}{said}"


# ---- differences

Difference = tuple[str, Any, Any]
"""Full name of a value (`section.key`), its old value and its new value."""


def differences(old: Any, new: Any, name: str = "") -> list[Difference]:
    """All values in which two nested mappings differ; None stands for a missing value."""
    if isinstance(old, dict) and isinstance(new, dict):
        keys = {**old, **new}
        nested = (differences(old.get(key), new.get(key), f"{name}.{key}" if name else key) for key in keys)
        return [difference for part in nested for difference in part]
    return [] if old == new else [(name, old, new)]


def describe_differences(changes: Sequence[Difference]) -> str:
    """Differences between stored and requested values, for a message."""
    return "; ".join(f"{name} is {old!r} there, {new!r} here" for name, old, new in changes)
