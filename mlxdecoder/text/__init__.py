"""Text: the tokenizer, corpus readers and the toy grammar."""
