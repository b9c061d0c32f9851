"""Configuration files and command-line overrides.

Unknown keys are errors that suggest similar keys; loading never executes code.
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from limelight.config.models import FAMILIES, PARTS, ModelSection, plugin_of, plugins_of
from limelight.config.run import RunConfig
from limelight.errors import UserError, shown
from limelight.untrusted import MAX_YAML_BYTES, read_plain, read_yaml, write_yaml

FORMAT = 2
"""Format of `config.yaml`. Format 1, which had no format key, is also read."""
RETIRED = {"training": ("processes",)}
"""Settings of earlier versions that a stored configuration may still contain. None of them affects results."""
MAX_FAULTS = 20
"""Maximum number of faults that one message lists."""


def load_config(path: str | Path) -> RunConfig:
    """Read a `config.yaml`. Raises `UserError` naming file, key, value and bound."""
    try:
        text = read_plain(Path(path), MAX_YAML_BYTES).decode("utf-8")
    except FileNotFoundError:
        remedy = "every model or run folder contains it: copy the whole folder again"
        if Path(path).name != "config.yaml":
            remedy = "give the path of an existing configuration file"
        raise UserError(f"{path}: is missing; {remedy}") from None
    except OSError as error:
        raise UserError(f"{path}: cannot read the configuration: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: cannot read the configuration: {error}") from None
    try:
        values = read_yaml(text)
    except ValueError as error:
        raise UserError(f"{path}: not valid YAML: {error}") from None
    if values is None:
        values = {}
    if not isinstance(values, dict):
        raise UserError(f"{path}: a configuration is a mapping of sections, this is a {type(values).__name__}")
    return config_from(values, where=str(path))


def save_config(config: RunConfig, path: str | Path) -> None:
    """Write the configuration as YAML; `load_config` reads it back."""
    Path(path).write_text(dump_config(config), encoding="utf-8")


def dump_config(config: RunConfig) -> str:
    """The configuration as YAML with all settings, and with the plugins that they need, if any."""
    plugins = plugins_of(config.model)
    values = {"format": FORMAT, **({"plugins": plugins} if plugins else {}), **config.model_dump(mode="json")}
    return write_yaml(values)


def config_from(values: dict[Any, Any], where: str = "configuration") -> RunConfig:
    """Validate plain values against the schema. Raises `UserError` that lists the faults, up to `MAX_FAULTS`."""
    stored = values.get("format", 1)
    if type(stored) is not int or not 1 <= stored <= FORMAT:
        raise UserError(
            f"{where}: format is {shown(repr(stored))}, and this version of Limelight reads formats 1 to {FORMAT}; use "
            "the version that wrote it, or a later one"
        )
    _require_plugins(values, where)
    try:
        return RunConfig.model_validate(_current(values))
    except ValidationError as error:
        model = values.get("model")
        named = model.get("family") if isinstance(model, dict) else None
        family = named if isinstance(named, str) and named in FAMILIES else None
        faults = [shown(_describe(fault, family), 500) for fault in error.errors()[:MAX_FAULTS]]
        more = error.error_count() - len(faults)
        raise UserError(f"{where}: " + "; ".join(faults) + (f"; and {more} more" if more else "")) from None


def _require_plugins(values: dict[Any, Any], where: str) -> None:
    """Raises `UserError` if a plugin of these values is missing, and warns if it has changed since."""
    model = values.get("model")
    settings: dict[Any, Any] = model if isinstance(model, dict) else {}
    # Earlier versions had only plugins for scores, under another key.
    plugins = {"score": values["plugin"]} if "plugin" in values else values.get("plugins", {})
    if not isinstance(plugins, dict):
        raise UserError(f"{where}: plugins is not a mapping from settings to modules")
    for setting, plugin in plugins.items():
        name = settings.get(setting)
        if setting not in PARTS or not isinstance(name, str):
            raise UserError(f"{where}: plugins: {shown(str(setting))} is not a setting that names a part of a plugin")
        if not isinstance(plugin, dict) or not isinstance(plugin.get("module"), str):
            raise UserError(f"{where}: the plugin of {setting} is not a mapping with `module` and `sha256`")
        module, registry = shown(plugin["module"]), PARTS[setting]
        if not registry.has(name):
            raise UserError(
                f"{where}: the {registry.kind} {shown(name)!r} is registered by the plugin {module}: give its file, as "
                f"in `limelight --plugin {module.rpartition('.')[2]}.py COMMAND`, or install its package; in Python, "
                "import it"
            )
        part = registry.parts[name]
        now = {} if isinstance(part, str) else plugin_of(part)
        if plugin.get("sha256") != now.get("sha256"):
            warnings.warn(f"{where}: the plugin {module} has changed since this was written", stacklevel=4)


def _current(values: dict[Any, Any]) -> dict[Any, Any]:
    """The values without format and plugin, and without retired settings if the file has a format key."""
    current = {key: value for key, value in values.items() if key not in ("format", "plugin", "plugins")}
    for section, names in RETIRED.items():
        if "format" in values and isinstance(current.get(section), dict):
            current[section] = {name: value for name, value in current[section].items() if name not in names}
    return current


def override(config: RunConfig, assignments: Iterable[str]) -> RunConfig:
    """Apply `section.key=value` settings with values in YAML (`true`, `0.3`, `null`). Raises `UserError`."""
    values = config.model_dump(mode="json")
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals:
            raise UserError(f"--set {assignment}: write it as section.key=value, for example training.seed=7")
        section, key = _find(values, name.strip())
        value = _value(text, assignment)
        if section is values["model"] and key == "family" and value != section[key]:
            raise UserError(
                f"--set {assignment}: the recipe's model is a {section[key]}; choose another --recipe instead"
            )
        section[key] = value
    return config_from(values, where="--set")


def known_keys(family: str | None = None) -> list[str]:
    """All keys as `section.key`, for messages; with a family, only those of its models."""
    keys = [
        f"{section}.{key}"
        for section, field in RunConfig.model_fields.items()
        for kind in _sections_in(field.annotation)
        if section != "model" or family in (None, kind.model_fields["family"].default)
        for key in kind.model_fields
    ]
    return list(dict.fromkeys(keys))


def _find(values: dict[str, Any], name: str) -> tuple[dict[str, Any], str]:
    """The mapping that contains a setting, and its key there."""
    parts = name.split(".")
    section: Any = values
    for depth, part in enumerate(parts):
        place = ".".join(parts[:depth])
        if isinstance(section, list):
            raise UserError(f"--set {name}: {place} is a list; set the whole list, or use a file with --config")
        if not isinstance(section, dict):
            raise UserError(f"--set {name}: {place} is one value and has no settings of its own")
        if part not in section:
            raise UserError(f"--set: {_unknown(name, place, list(section), values['model']['family'])}")
        holder, section = section, section[part]
    if isinstance(section, dict):
        raise UserError(f"--set {name}: that is a section; set one of {', '.join(f'{name}.{key}' for key in section)}")
    return holder, parts[-1]


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


def _sections_in(annotation: Any) -> list[type[BaseModel]]:
    """The section types that a field can hold."""
    if annotation is ModelSection:
        return list(FAMILIES.values())
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [kind for part in get_args(annotation) for kind in _sections_in(part)]


def _unknown(name: str, place: str, siblings: list[str], family: str | None) -> str:
    """The message for an unknown setting: similar keys in its section, else the same key in other sections."""
    key = name.removeprefix(f"{place}.").partition(".")[0]
    if place == "model" and name in known_keys():
        return f"{name} is not a setting of the model family {family}; choose a recipe of a family that has it"
    options = [f"{place}.{sibling}" if place else sibling for sibling in siblings]
    near = [option for option in options if option.rpartition(".")[2] in difflib.get_close_matches(key, siblings)]
    near = near or [known for known in known_keys(family) if known.endswith(f".{key}")]
    hint = f"did you mean {' or '.join(near)}?" if near else f"choose from {', '.join(options)}"
    return f"unknown setting {name}; {hint}"


def _describe(fault: Any, family: str | None) -> str:
    """A readable message for one validation error: place, bound, value. `family` is that of the model."""
    loc = list(fault["loc"])
    place = ".".join(str(part) for part in loc)
    if fault["type"] == "extra_forbidden":
        kinds: list[type[BaseModel]] = [RunConfig]
        for part in (part for part in loc[:-1] if isinstance(part, str)):  # numbers are indices into lists
            kinds = [inner for kind in kinds for inner in _sections_in(kind.model_fields[part].annotation)]
        of_family = (None, family) if loc[0] == "model" else (None,)
        here = [kind for kind in kinds if getattr(kind.model_fields.get("family"), "default", None) in of_family]
        siblings = [key for kind in here for key in kind.model_fields]
        return _unknown(place, place.rpartition(".")[0], siblings, family)
    value = fault["input"]
    said = "" if isinstance(value, dict) else f", not {shown(repr(value))}"
    message = fault["msg"].removeprefix("Value error, ")  # raised by our own validators
    return f"{place}: {message[:1].lower()}{message[1:]}{said}"
