"""LLM inference on NVIDIA Dynamo: a planner that turns predicted load into prefill and decode engines, and the hooks that price them.

`profile`, `builtin`, `loading` and `configurator` say how fast an engine is; `predictors` and `planner` say how much is needed; `fleet` and `pools`
say how far what is held goes; `serving` keeps all of it together. `profiling` and `pricing` are the adapter. No traffic is simulated here.
"""
