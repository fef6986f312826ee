"""The scenarios of the evaluation: a cluster just large enough, slightly and heavily
oversubscribed, and undersubscribed."""

from __future__ import annotations

from typing import Final

import msgspec

from laissez.sim.scenario import BatchTable, InferenceTable, Scenario, TenantsTable, TrainingTable
from laissez_experiments.lab.plan import Plan

OTHERS: Final = ("fcfs", "fcfs-p")  # the contracts of today
CONTRACTS: Final = ("market", *OTHERS)  # clouds that could exist
RIGHT_SIZED: Final = Scenario(name="right-sized", demand=1.0)
SLIGHTLY: Final = Scenario(name="slightly oversubscribed", demand=1.125)
HEAVILY: Final = Scenario(name="heavily oversubscribed", demand=2.25)
UNDERSUBSCRIBED: Final = Scenario(name="undersubscribed", demand=0.8)
REGIMES: Final = (RIGHT_SIZED, SLIGHTLY, HEAVILY)


def regimes(plan: Plan) -> list[Scenario]:
    return [sized(regime, plan) for regime in REGIMES]


def sized(scenario: Scenario, plan: Plan) -> Scenario:
    """The scenario itself, or for a quick plan one with three tenants for half an hour, which runs
    in less than a second."""
    if not plan.quick:
        return scenario
    hours = (0.4, 0.5)
    checkpoint_seconds = (120.0, 240.0)
    return msgspec.structs.replace(
        with_tenants(scenario, count=min(scenario.tenants.count, 3), arrivals_hours=0.1),
        inference=InferenceTable(engines=(1.0, 2.0), hours=hours, trace=scenario.inference.trace),
        training=TrainingTable(
            gpus=(1.0, 3.0),
            hours=hours,
            models=("OPT-350",),
            cold_seconds=(30.0, 60.0),
            checkpoint_seconds=checkpoint_seconds,
        ),
        batch=BatchTable(
            gpus=(1.0, 3.0),
            hours=hours,
            cold_seconds=(60.0, 120.0),
            checkpoint_seconds=checkpoint_seconds,
        ),
    )


def with_tenants(scenario: Scenario, **fields: object) -> Scenario:
    """The same with other fields of its `[tenants]`."""
    tenants: TenantsTable = msgspec.structs.replace(scenario.tenants, **fields)
    return msgspec.structs.replace(scenario, tenants=tenants)
