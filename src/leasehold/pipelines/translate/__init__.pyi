from leasehold.app.facade import Leasehold
from leasehold.pipelines.translate.api import Result, look, project, run
from leasehold.pipelines.translate.gate import Thresholds
from leasehold.pipelines.translate.history import Story
from leasehold.pipelines.translate.run_loop import Crew
from leasehold.pipelines.translate.settings import Options

__all__ = ["Crew", "Options", "Result", "Story", "Thresholds", "look", "project", "run"]

app: Leasehold
