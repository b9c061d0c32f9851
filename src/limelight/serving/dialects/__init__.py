"""The APIs that the service speaks, each in the words of its own clients. None of them knows a web framework."""
