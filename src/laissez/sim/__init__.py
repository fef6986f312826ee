"""The simulator: the real market and the real adapters under a virtual clock, beside the clouds of
today.

Here belong the clock (`kernel`), the clouds (`clouds`), what the tenants run (`worlds`), who they
are (`workloads`, `scenario`) and what came of it (`results`). What a tenant wants and bids is in
`laissez.tenants`, unchanged; what the market does is in `laissez.market`.
"""

from laissez.sim.results import RunResult
from laissez.sim.scenario import (
    ClusterTable,
    InferenceTable,
    Scenario,
    ScenarioError,
    TenantsTable,
)
from laissez.sim.scenario_file import read_scenario, write_scenario
from laissez.sim.setting import Setting, run

__all__ = [
    "ClusterTable",
    "InferenceTable",
    "RunResult",
    "Scenario",
    "ScenarioError",
    "Setting",
    "TenantsTable",
    "read_scenario",
    "run",
    "write_scenario",
]
