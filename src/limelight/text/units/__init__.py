"""Translatable units of files: found by parsers and written by splicing, so that all other bytes are unchanged."""
