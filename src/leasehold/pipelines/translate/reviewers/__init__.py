"""Reviewers of one translated paragraph, each a plug-in that gives scores and findings.

`review` has the public names, `standard` the default reviewers. Each of these is a function of `checks`; `text` is
what they read a text with, and `plugins` loads and checks the reviewers of others. No database, no files, no network.
"""
