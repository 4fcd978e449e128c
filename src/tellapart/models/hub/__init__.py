"""Models of `transformers`, from a folder or the hub: what they are, and what they read."""
