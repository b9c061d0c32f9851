"""What `make test-ray` installs may not be there."""

from importlib.util import find_spec

collect_ignore = [] if all(map(find_spec, ("ray", "pyarrow"))) else ["test_ray.py"]
