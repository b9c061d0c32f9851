"""What a run saves: checkpoints, snapshots, the best model; and the lock of its folder."""
