"""Loss, update, optimizer, learning rate and precision."""
