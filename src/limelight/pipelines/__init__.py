"""Pipelines from text to text: a model with its tokenizer and settings."""
