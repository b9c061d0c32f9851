"""The recurrent encoder-decoder in three wirings: fixed context vector, Bahdanau's attention, Luong's attention."""
