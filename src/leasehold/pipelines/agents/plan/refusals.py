"""Why a plan is refused: one frozen code each, and a detail that names the line of the file."""

from leasehold.errors import Misuse


class PlanInvalid(Misuse, code="URM_PLAN_INVALID"):
    """The plan is not valid TOML."""


class PlanMissing(PlanInvalid, code="URM_PLAN_MISSING"):
    """The plan cannot be read."""


class PlanTooLarge(PlanInvalid, code="URM_PLAN_TOO_LARGE"):
    """The plan is larger than its limit; keep long inputs in files of their own and name those."""


class PlanNotUtf8(PlanInvalid, code="URM_PLAN_NOT_UTF8"):
    """The plan is not UTF-8 text."""


class PlanFieldUnknown(PlanInvalid, code="URM_PLAN_FIELD_UNKNOWN"):
    """The plan has a field that does not exist."""


class PlanFieldMissing(PlanInvalid, code="URM_PLAN_FIELD_MISSING"):
    """The plan lacks a required field."""


class PlanValueInvalid(PlanInvalid, code="URM_PLAN_VALUE_INVALID"):
    """A field of the plan has a value of the wrong type, or one outside its limits."""


class PlanBudgetInvalid(PlanValueInvalid, code="URM_PLAN_BUDGET_INVALID"):
    """A budget is a whole number from 0 to 1,000,000,000,000,000."""


class PlanNameInvalid(PlanInvalid, code="URM_PLAN_NAME_INVALID"):
    """A name must match ^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$."""


class PlanNameTwice(PlanInvalid, code="URM_PLAN_NAME_TWICE"):
    """A name appears twice in the plan; give each child a name of its own."""


class PlanNameUnknown(PlanInvalid, code="URM_PLAN_NAME_UNKNOWN"):
    """`after` names a child that the plan does not have."""


class PlanCycle(PlanInvalid, code="URM_PLAN_CYCLE"):
    """Children wait for each other in a cycle, so none of them could start."""


class PlanCommandInvalid(PlanInvalid, code="URM_PLAN_COMMAND_INVALID"):
    """A command is a list of texts: the program, then one text for each argument. No shell reads it."""


class PlanCommandMissing(PlanInvalid, code="URM_PLAN_COMMAND_MISSING"):
    """The program of a command does not exist or is not executable."""


class PlanFolderOutside(PlanInvalid, code="URM_PLAN_FOLDER_OUTSIDE"):
    """A child's folder must be an existing folder inside the plan's own."""


class PlanInputInvalid(PlanInvalid, code="URM_PLAN_INPUT_INVALID"):
    """A child's input is not strict JSON."""


class PlanInputTooLarge(PlanInputInvalid, code="URM_PLAN_INPUT_TOO_LARGE"):
    """A child's input is larger than its limit; keep it in a file and pass the file's name."""
