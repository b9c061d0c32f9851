"""Documents: connects the units of files to a translator."""
