"""`laissez_bench.processor_time` with a service that answers refusals without a rate limit. Run by
`test_bench_verdicts`."""

from __future__ import annotations

import os

import pytest

os.environ["LAISSEZ_MARKET"] = "interpreted"  # compiled functions cannot be replaced

from laissez.server.rate_limits import RefusalPace
from laissez_bench import processor_time

if __name__ == "__main__":
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RefusalPace, "delay_s", lambda *_: 0.0)
        # the burst never ends, so the test does not wait for its end
        patch.setattr(processor_time, "FIRST_BURST_S", 0.1)
        processor_time.main()
