"""The simulator: the real market and the real adapters under a virtual clock, beside the clouds of
today.

Here belong the clock (`kernel`), the clouds (`clouds`), what the tenants run (`worlds`), who they
are (`workloads`, `scenario`) and what came of it (`results`). What a tenant wants and bids is in
`laissez.tenants`, unchanged; what the market does is in `laissez.market`.
"""

from laissez.sim.comparison import compare
from laissez.sim.results import PricePoint, RunResult, TenantResult
from laissez.sim.scenario import (
    BatchTable,
    ClusterTable,
    InferenceTable,
    PricesTable,
    Scenario,
    ScenarioError,
    TenantsTable,
    TrainingTable,
)
from laissez.sim.scenario_file import read_scenario, write_scenario
from laissez.sim.setting import Setting, run
from laissez.sim.summary import summarise

__all__ = [
    "BatchTable",
    "ClusterTable",
    "InferenceTable",
    "PricePoint",
    "PricesTable",
    "RunResult",
    "Scenario",
    "ScenarioError",
    "Setting",
    "TenantResult",
    "TenantsTable",
    "TrainingTable",
    "compare",
    "read_scenario",
    "run",
    "summarise",
    "write_scenario",
]
