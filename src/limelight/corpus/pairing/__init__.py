"""Two documents become sentence pairs: `limelight pair`."""
