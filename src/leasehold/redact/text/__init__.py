"""Text as the detectors see it: pages, spans, tokens, placeholders."""
