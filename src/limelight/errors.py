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


JOINERS = "\u200b\u200c\u200d\u3000\xa0"
"""Joiners (in Persian, Hindi, Khmer, emoji) and spaces, which Python does not count as printable."""


def drawable(text: str) -> str:
    """The text without characters that move a cursor, change the writing direction or are not valid in a file; joiners
    are kept."""
    return "".join(letter if letter.isprintable() or letter in JOINERS else "\ufffd" for letter in text)


def shown(text: str, most: int = 200) -> str:
    """Untrusted text for a message: truncated, without control characters."""
    return drawable(text if len(text) <= most else text[:most] + "...")
