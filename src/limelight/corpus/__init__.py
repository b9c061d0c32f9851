"""A corpus of many files, translated by processes of one machine or by actors of Ray."""
