"""Photos found again: a table of vectors and captions, kept up to date, and asked by words or by images."""
