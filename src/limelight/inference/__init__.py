"""The same models made fast for decoding, behind `prepare.prepare(model, precision)`."""
