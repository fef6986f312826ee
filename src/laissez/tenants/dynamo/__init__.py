"""LLM inference on NVIDIA Dynamo: a planner that turns predicted load into prefill and decode
engines, and the hooks that price them.

`profile`, `builtin`, `loading` and `configurator` describe how fast an engine is; `predictors` and
`planner` compute the need; `fleet` and `pools` compute how far the nodes held go; `serving` ties
them together. `profiling` and `pricing` are the adapter. No traffic is simulated here.
"""

from laissez.tenants.dynamo.builtin import built_in
from laissez.tenants.dynamo.loading import load_aiconfigurator, load_dynamo
from laissez.tenants.dynamo.planner import Observation, Sla
from laissez.tenants.dynamo.pricing import Dynamo
from laissez.tenants.dynamo.profile import EngineProfile
from laissez.tenants.dynamo.serving import Serving

__all__ = [
    "Dynamo",
    "EngineProfile",
    "Observation",
    "Serving",
    "Sla",
    "built_in",
    "load_aiconfigurator",
    "load_dynamo",
]
