"""The HTTP interface of sessions: routes for a Starlette application, and a server for them behind a bearer token."""
