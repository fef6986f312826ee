"""All experiments, in the order of the report: the paper's, section by section, and then what goes beyond it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from laissez.experiments.adaptive_share import AdaptiveShare
from laissez.experiments.cloud_scale.experiment import CloudScale
from laissez.experiments.fairness import Fairness
from laissez.experiments.frontier.experiment import Frontier
from laissez.experiments.gap import Gap
from laissez.experiments.integration import Integration
from laissez.experiments.lab.experiment import Experiment
from laissez.experiments.misconfiguration import Misconfiguration
from laissez.experiments.motivation.experiment import Motivation
from laissez.experiments.power.experiment import Power
from laissez.experiments.real_traces import RealTraces
from laissez.experiments.reconfiguration import Reconfiguration
from laissez.experiments.retention import Retention
from laissez.experiments.scalability.experiment import Scalability
from laissez.experiments.topology.experiment import Topology
from laissez.experiments.trade_down.experiment import TradeDown
from laissez.experiments.volatility import Volatility

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
