"""Where a model comes from: its files, its tensors, its tokenizer."""
