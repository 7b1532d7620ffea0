from leasehold.app.facade import Leasehold
from leasehold.pipelines.translate.api import Result, look, project, run
from leasehold.pipelines.translate.gate import Thresholds
from leasehold.pipelines.translate.history import ParagraphHistory
from leasehold.pipelines.translate.run_loop import Crew
from leasehold.pipelines.translate.settings import TranslateOptions

__all__ = ["Crew", "ParagraphHistory", "Result", "Thresholds", "TranslateOptions", "look", "project", "run"]

app: Leasehold
