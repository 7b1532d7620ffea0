"""The pytest plugin: fixtures for users' tests."""
