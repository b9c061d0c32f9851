"""Every path of the service. The dialects do not collide, so one port speaks all of them."""

from limelight.serving import page
from limelight.serving.call import Dialect, Route
from limelight.serving.dialects import deepl, libretranslate, own

ROUTES: tuple[Route, ...] = (*own.ROUTES, *page.ROUTES, *deepl.ROUTES, *libretranslate.ROUTES)

PREFIXES = {"/api/": own.OWN, "/v2/": deepl.DEEPL, "/v3/": deepl.DEEPL}


def dialect_of(path: str) -> Dialect:
    """The dialect that a path looks like, for those that there are not."""
    return next(
        (dialect for prefix, dialect in PREFIXES.items() if path.startswith(prefix)), libretranslate.LIBRETRANSLATE
    )
