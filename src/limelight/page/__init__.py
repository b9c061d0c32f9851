"""The page's static files: plain ES modules, a style sheet and the frame. Data only; inspection and serving read it."""
