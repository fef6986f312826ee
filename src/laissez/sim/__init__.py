"""The simulator: the real market and the real adapters under a virtual clock, beside the clouds of
today.

The packages and modules: the clock (`kernel`), the clouds (`clouds`), the work of the tenants
(`worlds`), their descriptions (`workloads`, `scenario`) and the results (`results`). Tenants bid
with the code of `laissez.tenants`; the market is `laissez.market`.
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
