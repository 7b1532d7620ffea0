"""Prompts: versioned templates, rendered from redacted changes alone, split to fit, and rolled out step by step."""

from leasehold.pipelines.review.prompts.merge import MergedReview, merge_reviews
from leasehold.pipelines.review.prompts.redacted_change import RedactedChange, RedactedFile, redact_change
from leasehold.pipelines.review.prompts.render import Prompt, render
from leasehold.pipelines.review.prompts.rollout import (
    GateVerdict,
    ResponseCounts,
    Rollout,
    RolloutInvalid,
    choose_version,
    count_response,
    judge,
)
from leasehold.pipelines.review.prompts.split import SplitChange, split_change
from leasehold.pipelines.review.prompts.template import (
    CURRENT,
    PromptTemplate,
    PromptUnknown,
    load_template,
    prompt_versions,
)

__all__ = [
    "CURRENT",
    "GateVerdict",
    "MergedReview",
    "Prompt",
    "PromptTemplate",
    "PromptUnknown",
    "RedactedChange",
    "RedactedFile",
    "ResponseCounts",
    "Rollout",
    "RolloutInvalid",
    "SplitChange",
    "choose_version",
    "count_response",
    "judge",
    "load_template",
    "merge_reviews",
    "prompt_versions",
    "redact_change",
    "render",
    "split_change",
]
