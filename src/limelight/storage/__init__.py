"""The model folder on disk: weights and their smaller formats, labels, detector, shortlist."""
