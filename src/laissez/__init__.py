"""LaissezCloud: a market for GPU leases.

`laissez.market` is the market itself; the other packages put it on disk, on the network, in a
simulator and under test. This file stays light: it holds the version and decides which form of the
market is imported.
"""

from laissez._form import FormError, market_form, prepare

__all__ = ["FormError", "__version__", "market_form"]

__version__ = "0.1.0"

prepare()
