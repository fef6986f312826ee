"""The best use of all GPUs over the coming hours, as a linear program.

The variables are the GPUs of each type that each tenant has in each bin of time; the objective is
the sum of the tenants' performance. Work can wait until its deadline, requests cannot. A new node
is useless during its cold start, and taking one may cost unsaved work, so small gains change
nothing. Bins grow with distance: only the first is carried out, and a new plan follows before it
ends.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Final, TypeAlias

from laissez.sim.clouds.foresight import Job, Outlook, Service
from laissez.units import HOUR_US

# of the bins; the last width repeats
WIDTHS_US: Final = [
    round(hours * HOUR_US) for hours in (1 / 12, 1 / 12, 1 / 6, 1 / 6, 1 / 4, 1 / 4, 1 / 2)
]
# engines that a pool needs beyond its load, on average, because engines are whole
ROUNDING: Final = 0.5
# the cost of a GPU as a share of its worth, doubling towards the deadline: no GPU is held in vain,
# and no work is left to the last moment
HOLDING_COST: Final = 0.02
TINY: Final = 1e-6
ADDED_MIN: Final = 0.3  # of a GPU; a smaller share does not start another one

Counts: TypeAlias = Mapping[str, Mapping[str, int]]  # GPUs by tenant and type
Shares: TypeAlias = dict[str, dict[str, float]]  # the same, in parts of GPUs
Terms: TypeAlias = list[tuple[int, float]]  # variables and their factors


class NoSolver(ImportError):
    """The solver of the ideal cloud is not installed."""


def check_solver() -> None:
    """Raise without a solver, before any run starts."""
    if find_spec("scipy") is None:
        raise NoSolver(
            "expected scipy, which the ideal cloud plans with, found none: pip install"
            " 'laissezcloud[sim]'"
        )


class LinearProgram:
    """Maximise the worth of variables that are at least 0, under upper bounds on sums of terms."""

    def __init__(self) -> None:
        self._worth: list[float] = []
        self._most: list[float | None] = []
        self._bounds: list[float] = []
        self._entries: list[tuple[int, int, float]] = []  # row, column, factor

    def variable(self, worth: float, most: float | None = None) -> int:
        self._worth.append(worth)
        self._most.append(most)
        return len(self._worth) - 1

    def at_most(self, terms: Terms, bound: float) -> None:
        row = len(self._bounds)
        self._entries += [(row, column, factor) for column, factor in terms]
        self._bounds.append(bound)

    def solve(self) -> list[float]:
        optimize, sparse = _scipy()
        rows, columns, factors = zip(*self._entries, strict=True)
        shape = (len(self._bounds), len(self._worth))
        found = optimize.linprog(
            [-worth for worth in self._worth],
            A_ub=sparse.csr_array((factors, (rows, columns)), shape=shape),
            b_ub=self._bounds,
            bounds=[(0.0, most) for most in self._most],
            method="highs",
        )
        assert found.status == 0, f"expected a plan, found none: {found.message}"
        return [float(number) for number in found.x]


class AllocationPlan:
    """`held` is what each tenant has now, `supply` the GPUs by type for all of them."""

    def __init__(
        self, outlooks: Mapping[str, Outlook], held: Counts, supply: Mapping[str, int], now: int
    ) -> None:
        self._outlooks, self._held, self._supply = outlooks, held, supply
        self._edges = [now]
        end = max(one.due for one in outlooks.values())
        while self._edges[-1] < end:
            width = WIDTHS_US[min(len(self._edges), len(WIDTHS_US)) - 1]
            self._edges.append(self._edges[-1] + width)

    def first_bin(self) -> dict[str, dict[str, int]]:
        """The GPUs by tenant and type in the first bin. A job that got several types is bound to
        its best one in a second pass, since it does not mix them."""
        found = self._solve(frozenset())
        minor = frozenset(
            pair for name, shares in found.items() for pair in self._minor_types(name, shares)
        )
        return self._rounded(self._solve(minor) if minor else found)

    def _minor_types(self, name: str, shares: Mapping[str, float]) -> list[tuple[str, str]]:
        job = self._outlooks[name]
        if not isinstance(job, Job) or not job.one_type:
            return []
        if sum(share > TINY for share in shares.values()) < 2:
            return []
        best = max(shares, key=lambda tree: (shares[tree] * job.rates[tree], tree))
        return [(name, tree) for tree in shares if tree != best]

    def _solve(self, barred: frozenset[tuple[str, str]]) -> Shares:
        self._program, self._barred = LinearProgram(), barred
        self._used: dict[tuple[str, int], Terms] = {}  # by type and bin
        self._first: dict[str, dict[str, list[int]]] = {name: {} for name in self._outlooks}
        for name, one in self._outlooks.items():
            if isinstance(one, Job):
                self._add_job(name, one)
            else:
                self._add_service(name, one)
        for (tree, _), terms in self._used.items():
            self._program.at_most(terms, self._supply.get(tree, 0))
        found = self._program.solve()
        return {
            name: {tree: sum(found[at] for at in gpus) for tree, gpus in first.items()}
            for name, first in self._first.items()
        }

    def _add_job(self, name: str, job: Job) -> None:
        """Progress, worth at most 1, is the work done so far plus that of the GPUs, less the cost
        of gaining and losing them."""
        program = self._program
        progress: Terms = [(program.variable(1.0, 1.0), 1.0)]
        nodes: dict[int, Terms] = {}
        for tree, rate in job.rates.items():
            most = 0.0 if (name, tree) in self._barred else None
            before: list[int] = []
            for at, hours in self._bins(job.due):
                lateness = (self._edges[at] - self._edges[0]) / (job.due - self._edges[0])
                gpus = program.variable(-HOLDING_COST * rate * hours * (1 + lateness), most)
                gained = self._gain(name, tree, [gpus], before, TINY)
                progress += [(gpus, -rate * hours), (gained, rate * job.gain_h)]
                if at == 0:
                    progress.append((self._loss(name, tree, gpus), rate * job.loss_h))
                self._use(name, tree, at, [gpus])
                nodes.setdefault(at, []).append((gpus, 1.0))
                before = [gpus]
        program.at_most(progress, job.done)
        for terms in nodes.values():
            program.at_most(terms, job.nodes_max)

    def _add_service(self, name: str, service: Service) -> None:
        """Each level of load is served as far as both pools reach."""
        program = self._program
        before: dict[str, list[int]] = {}
        for at, hours in self._bins(service.due):
            levels = service.between(self._edges[at], min(self._edges[at + 1], service.due))
            per_hour = sum(level.weight for level in levels) / hours
            cost = HOLDING_COST * per_hour * hours / 10
            prefill, decode = (
                {tree: program.variable(-cost) for tree in service.trees} for _ in range(2)
            )
            for level in levels:
                served = program.variable(level.weight, 1.0)
                for pool, need in ((prefill, level.prefill), (decode, level.decode)):
                    engines = [(pool[tree], -1 / (need[tree] + ROUNDING)) for tree in service.trees]
                    program.at_most([(served, 1.0), *engines], 0.0)
            for tree in service.trees:
                gpus = [prefill[tree], decode[tree]]
                self._gain(name, tree, gpus, before.get(tree, []), service.gain_h * per_hour / 4)
                self._use(name, tree, at, gpus)
                before[tree] = gpus

    def _bins(self, due: int) -> list[tuple[int, float]]:
        """The bins before `due`, with their hours."""
        spans = zip(self._edges, self._edges[1:], strict=False)
        return [
            (at, (min(until, due) - since) / HOUR_US)
            for at, (since, until) in enumerate(spans)
            if since < due
        ]

    def _use(self, name: str, tree: str, at: int, gpus: list[int]) -> None:
        self._used.setdefault((tree, at), []).extend((each, 1.0) for each in gpus)
        if at == 0:
            self._first[name][tree] = gpus

    def _gain(self, name: str, tree: str, gpus: list[int], before: list[int], cost: float) -> int:
        """A variable: the GPUs gained since the bin before, or since now."""
        gain = self._program.variable(-cost)
        terms = [(gain, -1.0), *((each, 1.0) for each in gpus), *((each, -1.0) for each in before)]
        self._program.at_most(terms, 0.0 if before else self._held[name].get(tree, 0))
        return gain

    def _loss(self, name: str, tree: str, gpus: int) -> int:
        """A variable: the GPUs lost compared with now."""
        loss = self._program.variable(-TINY)
        self._program.at_most([(gpus, -1.0), (loss, -1.0)], -self._held[name].get(tree, 0))
        return loss

    def _rounded(self, shares: Shares) -> dict[str, dict[str, int]]:
        counts: dict[str, dict[str, int]] = {name: {} for name in shares}
        for tree, supply in self._supply.items():
            exact = {name: share[tree] for name, share in shares.items() if tree in share}
            for name, count in self._whole(tree, exact, supply).items():
                one = self._outlooks[name]
                enough = isinstance(one, Service) or count >= one.nodes_min[tree]
                counts[name][tree] = count if enough else 0
        return {name: {} if self._is_useless(name, one) else one for name, one in counts.items()}

    def _whole(self, tree: str, exact: Mapping[str, float], supply: int) -> dict[str, int]:
        """Round the shares of one type so that they fit the supply."""
        given = {name: self._round(name, tree, share) for name, share in exact.items()}
        while sum(given.values()) > supply:
            given[max(given, key=lambda name: (given[name] - exact[name], name))] -= 1
        while sum(given.values()) < supply and given:
            neediest = max(given, key=lambda name: (exact[name] - given[name], name))
            if exact[neediest] - given[neediest] < ADDED_MIN:
                break
            given[neediest] += 1
        return given

    def _round(self, name: str, tree: str, share: float) -> int:
        """A job keeps what it has if that is within one of the plan. A service is rounded up: a
        small shortage delays all its requests."""
        if isinstance(self._outlooks[name], Service):
            return math.ceil(share - ADDED_MIN)
        low, high = math.floor(share + TINY), math.ceil(share - TINY)
        return min(max(self._held[name].get(tree, 0), low), high)

    def _is_useless(self, name: str, counts: Mapping[str, int]) -> bool:
        """A service needs two engines: one to prefill and one to decode."""
        return isinstance(self._outlooks[name], Service) and sum(counts.values()) < 2


def _scipy() -> tuple[Any, Any]:
    check_solver()
    from scipy import optimize, sparse  # type: ignore[import-untyped, unused-ignore]

    return optimize, sparse
