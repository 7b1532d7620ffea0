"""What a session is to run: `read_plan` takes a plan whole or refuses it before anything starts."""

from leasehold.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "document": ["child_of_request", "read_plan"],
        "refusals": [
            "PlanBudgetInvalid",
            "PlanCommandInvalid",
            "PlanCommandMissing",
            "PlanCycle",
            "PlanFieldMissing",
            "PlanFieldUnknown",
            "PlanFolderOutside",
            "PlanInputInvalid",
            "PlanInputTooLarge",
            "PlanInvalid",
            "PlanMissing",
            "PlanNameInvalid",
            "PlanNameTwice",
            "PlanNameUnknown",
            "PlanNotUtf8",
            "PlanTooLarge",
            "PlanValueInvalid",
        ],
        "values": ["AgentPlan", "ChildBudget", "ChildPlan", "SessionPlan"],
    },
)
