"""Why a request is not answered, before any dialect has put it into words."""

from collections.abc import Mapping, Sequence

from pydantic import ValidationError


class Refusal(Exception):  # noqa: N818  # it is an answer, not a fault
    """The answer to a request that gets no result.

    Args:
        status: of HTTP: 400 to 499 is the caller's, 500 and above is ours.
        code: one word for programs, the same in all dialects.
        message: one or two sentences for people: the value, the bound and what to change.
        retry_after: seconds after which it may work, where it may.
        headers: further headers of the answer.
    """

    def __init__(
        self, status: int, code: str, message: str, *, retry_after: int | None = None, headers: Mapping[str, str] = {}
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.retry_after = status, code, message, retry_after
        self.headers = {**headers, **({} if retry_after is None else {"Retry-After": str(retry_after)})}


FAULT = Refusal(500, "internal", "something went wrong in the service; it is in its log")
"""Of an error in our own code."""


def beyond(what: str, bound: int | float, option: str, remedy: str) -> str:
    """The message of a limit: what was asked for, the bound, what a client changes, and what the operator does.

    Args:
        what: names the value, as `there are 129 texts`.
        option: of `limelight serve`, which raises the bound.
        remedy: of the client.
    """
    return f"{what}, and at most {bound:,} are accepted: {remedy}, or ask the operator to raise {option}"


def bad_request(message: str, code: str = "invalid_request") -> Refusal:
    """The caller's mistake."""
    return Refusal(400, code, message)


OF_OBJECTS = ("model_type", "model_attributes_type", "dict_type", "dataclass_type")
"""pydantic's types of errors for what should be an object."""


def of_validation(error: ValidationError) -> Refusal:
    """The first fault of a request's fields, without what was sent."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    message = "input should be an object" if first["type"] in OF_OBJECTS else first["msg"]  # which names our classes
    return bad_request(f"{place_of(first['loc'])}: {message.removeprefix('Value error, ').lower()}")


def place_of(location: Sequence[int | str]) -> str:
    """`texts[3]` for ("texts", 3). Names of union members, which mean nothing to a caller, are left out."""
    words = ""
    for part in location:
        if isinstance(part, int):
            words += f"[{part}]"
        elif part.isidentifier() and part not in ("str", "list", "int", "bool"):
            words += f".{part}" if words else part
    return words or "the body"
