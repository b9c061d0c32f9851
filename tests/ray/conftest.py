"""What `make test-ray` installs may not be there."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("ray") and find_spec("pyarrow") else ["test_ray.py"]
