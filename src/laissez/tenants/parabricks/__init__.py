"""Batch genomics with Parabricks: many samples, a deadline, hardware of any type, and the freedom
to pause.

`runtime` has the run time of a sample; `batch` keeps the queue, the progress and the checkpoints.
The adapter is the two short files beside them: `profiling` is the utility of a node for the batch,
`pricing` its worth.
"""

from laissez.tenants.parabricks.batch import Batch
from laissez.tenants.parabricks.pricing import Parabricks
from laissez.tenants.parabricks.runtime import (
    RUN_TIMES,
)

__all__ = [
    "RUN_TIMES",
    "Batch",
    "Parabricks",
]
