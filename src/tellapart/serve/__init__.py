"""The web application over an index: one page and the JSON API it uses."""
