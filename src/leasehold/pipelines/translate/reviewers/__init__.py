"""Reviewers of one translated paragraph, each a plug-in that gives scores and findings.

`review` is the face: the nouns and `standard_reviewers`. Each standard reviewer is a module of its own, `words` is what
they read a text with, and `plugins` brings and checks the reviewers of others. Pure: no database, no files, no network.
"""
