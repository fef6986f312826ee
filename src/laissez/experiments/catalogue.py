"""All experiments, in the order of the report: the paper's, section by section, and then what goes beyond it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from laissez.experiments.experiment import Experiment
from laissez.experiments.retention import Retention

EXPERIMENTS: Final[Mapping[str, Experiment]] = {one.name: one for one in (Retention(),)}
