"""Providers, which deliver messages: mail servers, webhooks, and a folder for local use.

Each implements `Provider` of `leasehold.model.delivery`, and so may any class of yours. The one rule: raise `Refused`
or `NotSent` only if it is certain that nothing was sent; whatever else is raised puts the message in doubt.
"""

from leasehold.providers.errors import MaybeSent
from leasehold.providers.folder import Folder
from leasehold.providers.smtp import Smtp
from leasehold.providers.urls import from_url
from leasehold.providers.webhook import Webhook

__all__ = ["Folder", "MaybeSent", "Smtp", "Webhook", "from_url"]
