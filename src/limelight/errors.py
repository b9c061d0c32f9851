"""The two kinds of errors that are reported to a user.

A message names the value, the bound, the place (file and line where there is one) and the way out. Everything else that
is raised is a fault of ours and may show a traceback.
"""


class UserError(ValueError):
    """The caller's mistake; the command line prints the message alone and ends with exit code 2."""


class RunError(RuntimeError):
    """The work itself failed (disk full, values not finite); the command line ends with exit code 1."""


class TextWarning(UserWarning):
    """Text that can be read but may not be what the user means: `file: what is strange; what to do`."""


def counted(number: int, noun: str) -> str:
    """A number with its noun, for messages: `1 file`, `2,000 files`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def shown(text: str, most: int = 200) -> str:
    """Untrusted text for a message: shortened, without control characters."""
    cut = text if len(text) <= most else text[:most] + "..."
    return "".join(character if character.isprintable() else "\ufffd" for character in cut)
