"""The journal as a stream: follow it, project it to NDJSON, check a projection."""
