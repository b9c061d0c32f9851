"""The two kinds of errors that are reported to the user.

A message names the value, the bound, the place (file and line if there is one) and the remedy. Any other exception is a
bug and may show a traceback.
"""


class UserError(ValueError):
    """A mistake of the caller; the command line prints only the message and exits with code 2."""


class RunError(RuntimeError):
    """The work itself failed (disk full, values not finite); the command line exits with code 1."""


def fault_of(error: Exception) -> str:
    """The message of an error; of one that is a bug with its kind."""
    return str(error) if isinstance(error, UserError | RunError) else f"{type(error).__name__}: {error}"


def counted(number: int, noun: str) -> str:
    """A number with its noun, for messages: `1 file`, `2,000 files`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def shown(text: str, most: int = 200) -> str:
    """Untrusted text for a message: truncated, without control characters."""
    cut = text if len(text) <= most else text[:most] + "..."
    return "".join(character if character.isprintable() else "\ufffd" for character in cut)
