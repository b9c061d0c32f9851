"""The model folder on disk: weights and their smaller forms, labels, detector, shortlist."""
