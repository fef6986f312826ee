"""All experiments, in the order of the report: the paper's, section by section, and then what goes
beyond it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from laissez_experiments.adaptive_share import AdaptiveShare
from laissez_experiments.cloud_scale import CloudScale
from laissez_experiments.fairness import Fairness
from laissez_experiments.frontier.experiment import Frontier
from laissez_experiments.gap import Gap
from laissez_experiments.integration import Integration
from laissez_experiments.lab.experiment import Experiment
from laissez_experiments.misconfiguration import Misconfiguration
from laissez_experiments.motivation.experiment import Motivation
from laissez_experiments.power.experiment import Power
from laissez_experiments.real_traces import RealTraces
from laissez_experiments.reconfiguration import Reconfiguration
from laissez_experiments.retention import Retention
from laissez_experiments.scalability.experiment import Scalability
from laissez_experiments.topology.experiment import Topology
from laissez_experiments.trade_down.experiment import TradeDown
from laissez_experiments.volatility import Volatility

EXPERIMENTS: Final[Mapping[str, Experiment]] = {
    one.name: one
    for one in (
        Motivation(),
        Retention(),
        TradeDown(),
        Frontier(),
        Fairness(),
        Topology(),
        Power(),
        Scalability(),
        CloudScale(),
        Reconfiguration(),
        Volatility(),
        Misconfiguration(),
        Integration(),
        Gap(),
        RealTraces(),
        AdaptiveShare(),
    )
}
