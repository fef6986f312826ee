"""Retention once more, with the load of real services: stretches of recorded traces in place of
drawn ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from laissez.sim.scenario import Scenario
from laissez_experiments.lab.boxes import Boxes
from laissez_experiments.lab.cloud_run import CloudExperiment, Runs
from laissez_experiments.lab.experiment import Results
from laissez_experiments.lab.findings import Findings
from laissez_experiments.lab.plan import Plan
from laissez_experiments.lab.regimes import OTHERS, REGIMES, sized
from laissez_experiments.lab.retained import (
    RETENTION_LABEL,
    degrades_less,
    panel,
    shown_means,
    tenant_rows,
)


class RealTraces(CloudExperiment):
    name = "real-traces"
    title = "Retention with the load of real services"
    is_beyond = True
    takes_half = True

    def missing(self, plan: Plan) -> str | None:
        if plan.traces:
            return None
        return (
            "a recorded trace of requests (--trace FILE, once for each): Azure's CSV files of"
            " 2023, Mooncake's JSON lines"
        )

    def scenarios(self, plan: Plan) -> Sequence[Scenario]:
        return [sized(_recorded(one, trace), plan) for trace in plan.traces for one in REGIMES]

    def findings(self, plan: Plan, results: Results) -> Findings:
        scenarios, runs = self.scenarios(plan), Runs(plan, results)
        boxes = Boxes([panel(one, runs) for one in scenarios], RETENTION_LABEL)
        text = (
            "The retention experiment with recorded load: each inference service has a stretch of"
            " a trace, from a random instant on, as many times over as keep its engines busy; one"
            " that is shorter begins again, and bursts of less than a minute are evened out."
            f" Training jobs and batches are as before. {shown_means(scenarios, runs)}"
        )
        return Findings(
            claims=[degrades_less(cloud, one, None, runs) for cloud in OTHERS for one in scenarios],
            text=text,
            rows=[row for scenario in scenarios for row in tenant_rows(scenario, runs)],
            draw=boxes.draw,
            tips=boxes.tips,
        )


def _recorded(regime: Scenario, trace: Path) -> Scenario:
    name = trace.name.partition(".")[0]
    return msgspec.structs.replace(
        regime,
        name=f"{name}, {regime.name}",
        inference=msgspec.structs.replace(regime.inference, trace=str(trace)),
    )
