"""Training tasks: one for each kind of model and text."""
