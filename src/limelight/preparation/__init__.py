"""From text files to the token store: vocabulary, tokenization, word alignment, shortlist."""
