"""Models prepared for fast decoding, with the same interface: `prepare.prepare(model, precision)`."""
