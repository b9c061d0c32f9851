"""The Transformer: layers, stacks, decoder states and complete models."""
