"""Translatable units of files: found by a parser, written by splicing, so that all else keeps its bytes."""
