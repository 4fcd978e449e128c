"""An index in the browser: one page and the JSON API behind it."""
