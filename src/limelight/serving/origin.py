"""Pages of other sites: a service without keys is for this machine or this network, not for what a browser shows.

A page can send requests to any address that its browser reaches. By its own name, which it lets stand for 127.0.0.1
(DNS rebinding), it can read the answers. An address as a number, or a name of this machine, cannot be such a name.
"""

import ipaddress
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from limelight.serving.refusal import Refusal

SAFE = ("GET", "HEAD", "OPTIONS")


class Origins(NamedTuple):
    """The addresses and origins that may call a service without keys."""

    hosts: Sequence[str] = ()
    """Names of this service beside addresses and `localhost`; `*` for any."""
    pages: Sequence[str] = ()
    """Origins whose pages may call it; `*` for any."""

    def require(self, method: str, headers: Mapping[str, str]) -> None:
        """Raises `Refusal`, 403, for a host name that is not one of this service, and for a change that a page of
        another origin asks for."""
        host, origin = headers.get("host", ""), headers.get("origin", "")
        try:
            name, (scheme, other, *_) = (urlsplit(f"//{host}").hostname or "").rstrip("."), urlsplit(origin)
        except ValueError:  # an address in brackets without its end
            name, scheme, other = "?", "http", "?"
        if (
            name
            and "*" not in self.hosts
            and not (_is_own(name) or {name, host.lower()} & {*map(str.lower, self.hosts)})
        ):
            message = f"this service is not called {name[:100]!r}: ask its operator for --allowed-host"
            raise Refusal(403, "host", message)
        if method in SAFE or "*" in self.pages or origin in self.pages:
            return
        foreign = origin == "null" or (scheme in ("http", "https") and other.lower() != host.lower())
        if foreign or (not origin and headers.get("sec-fetch-site") == "cross-site"):
            message = "pages of other origins may not call this service: ask its operator for --cors"
            raise Refusal(403, "origin", message)


def _is_own(name: str) -> bool:
    """Whether a name is an address, or one that always stands for this machine."""
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
