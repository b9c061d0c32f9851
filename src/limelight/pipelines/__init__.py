"""From text to text: a model with all it takes to be used."""
