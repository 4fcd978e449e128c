"""Alternative texts for the images of HTML and Markdown files: found, proposed, and written in place."""
