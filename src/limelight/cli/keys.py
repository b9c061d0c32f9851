"""`limelight keys`."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from limelight.cli import options, serving_options
from limelight.errors import UserError

EXAMPLES = """
[bold]Examples[/bold]
  limelight keys add alice --keys keys.json
  limelight keys add app --keys keys.json --characters-per-minute 100000
  limelight keys list --keys keys.json
  limelight keys revoke alice --keys keys.json
"""
WITH_LESS_MEMORY = "There is not enough memory even for a few keys"


def keys(
    action: serving_options.Action,
    name: serving_options.KeyName = "",
    file: serving_options.KeysFile = Path("keys.json"),
    per_minute: serving_options.PerMinute = None,
    as_json: options.AsJson = False,
) -> None:
    """Create, list and revoke the keys of a service."""
    from limelight.serving.keys import add_key, read_keys, revoke_key

    if action not in ("add", "list", "revoke"):
        raise UserError(f"unknown action {action!r}: give add, list or revoke")
    if (action == "list") == bool(name):
        raise UserError(
            "list takes no name" if name else f"{action} which key? Give its name: limelight keys {action} NAME"
        )
    if action == "add":
        typer.echo(add_key(file, name, per_minute))
        told = "it is shown this once. A running service reads the file again within seconds"
        typer.echo(f"limelight: the key of {name}; {told}", err=True)
    elif action == "revoke":
        revoke_key(file, name)
        typer.echo(f"limelight: {name} is revoked. A running service reads the file again within seconds", err=True)
    for key in read_keys(file) if action == "list" else ():
        limit = "" if key.characters_per_minute is None else f"  {key.characters_per_minute} characters a minute"
        fields = {"name": key.name, "created": key.created, "characters_per_minute": key.characters_per_minute}
        typer.echo(json.dumps(fields) if as_json else f"{key.name}  {key.created}{limit}")
