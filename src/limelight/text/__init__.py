"""Strings only: the record of a pair, and the filters before training."""
