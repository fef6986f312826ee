"""Retention once more, with the load of real services: stretches of recorded traces in place of
drawn ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from laissez.sim.scenario import Scenario
from laissez_experiments.lab.boxes import boxes
from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.cloud_run import runs_of
from laissez_experiments.lab.experiment import Experiment, Results
from laissez_experiments.lab.findings import Findings
from laissez_experiments.lab.plan import Plan
from laissez_experiments.lab.regimes import CONTRACTS, OTHERS, REGIMES, sized
from laissez_experiments.lab.retained import (
    RETENTION_LABEL,
    degrades_less,
    panel,
    shown_means,
    tenant_rows,
)


class RealTraces(Experiment):
    name = "real-traces"
    title = "Retention with the load of real services"
    is_beyond = True
    takes_half = True

    def missing(self, plan: Plan) -> str | None:
        return (
            None
            if plan.traces
            else (
                "a recorded trace of requests (--trace FILE, once for each): Azure's CSV files of"
                " 2023, Mooncake's JSON lines"
            )
        )

    def cells(self, plan: Plan) -> Sequence[Cell]:
        return [
            cell
            for scenario in _scenarios(plan)
            for cell in runs_of(scenario, CONTRACTS, plan.all_seeds)
        ]

    def findings(self, plan: Plan, results: Results) -> Findings:
        scenarios = _scenarios(plan)
        drawn = boxes([panel(one, plan, results) for one in scenarios], RETENTION_LABEL)
        text = (
            "The retention experiment with recorded load: each inference service has a stretch of"
            " a trace, from a random instant on, as many times over as keep its engines busy; one"
            " that is shorter begins again, and bursts of less than a minute are evened out."
            f" Training jobs and batches are as before. {shown_means(scenarios, plan, results)}"
        )
        return Findings(
            claims=[
                degrades_less(self.name, cloud, scenario, None, plan, results)
                for cloud in OTHERS
                for scenario in scenarios
            ],
            text=text,
            rows=[row for scenario in scenarios for row in tenant_rows(scenario, plan, results)],
            draw=drawn.draw,
            tips=drawn.tips,
        )


def _scenarios(plan: Plan) -> list[Scenario]:
    return [sized(_recorded(regime, trace), plan) for trace in plan.traces for regime in REGIMES]


def _recorded(regime: Scenario, trace: Path) -> Scenario:
    name = trace.name.partition(".")[0]
    return msgspec.structs.replace(
        regime,
        name=f"{name}, {regime.name}",
        inference=msgspec.structs.replace(regime.inference, trace=str(trace)),
    )
