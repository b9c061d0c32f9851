"""What `make test-ray` installs may not be there."""

from importlib.util import find_spec

NEEDS = {"test_ray.py": ("ray", "pyarrow"), "test_urls.py": ("aiohttp", "pyarrow")}
collect_ignore = [name for name, packages in NEEDS.items() if not all(map(find_spec, packages))]
