from leasehold.app.facade import Leasehold
from leasehold.pipelines.translate.api import Result, project, run, status
from leasehold.pipelines.translate.gate import Thresholds
from leasehold.pipelines.translate.history import ParagraphHistory
from leasehold.pipelines.translate.run_loop import WorkerOptions
from leasehold.pipelines.translate.settings import TranslateOptions

__all__ = ["ParagraphHistory", "Result", "Thresholds", "TranslateOptions", "WorkerOptions", "project", "run", "status"]

app: Leasehold
