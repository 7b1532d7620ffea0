"""Reviewers of one translated paragraph, each a plug-in that gives scores and findings.

`review` has the public names and `standard_reviewers`. Each standard reviewer is a module of `checks`, `text` is what
they read a text with, and `plugins` brings and checks the reviewers of others. Pure: no database, no files, no network.
"""
