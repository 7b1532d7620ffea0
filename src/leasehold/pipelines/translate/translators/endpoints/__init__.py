"""Models behind an HTTP address: asked one question at a time, answered with one JSON object."""
