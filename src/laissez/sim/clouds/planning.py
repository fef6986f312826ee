"""The best use of all GPUs over the coming hours, as a linear program.

How many GPUs of each type has each tenant in each bin of time, so that the sum of what all will
have achieved is largest? Work can wait until its deadline, requests cannot. A node that comes is of
no use before its cold start is over, and one that is taken may cost work that is not saved, so the
plan changes nothing for little. Bins grow with distance: only the first one is carried out, and
there is a new plan before it is over.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Final, TypeAlias

from laissez.sim.clouds.foresight import Job, Outlook, Service
from laissez.units import HOUR_US

# the last as often as needed
WIDTHS_US: Final = [
    round(hours * HOUR_US) for hours in (1 / 12, 1 / 12, 1 / 6, 1 / 6, 1 / 4, 1 / 4, 1 / 2)
]
# engines that a pool takes more than its load needs, in the mean, because they are whole
WHOLE: Final = 0.5
# of its worth is what a GPU costs, and up to twice that near the deadline: nothing is held in vain,
# put off, or left to the last
EARLY: Final = 0.02
TINY: Final = 1e-6
ADDED_MIN: Final = 0.3  # of a GPU; less is no reason to start another one

Counts: TypeAlias = Mapping[str, Mapping[str, int]]  # GPUs by tenant and type
Shares: TypeAlias = dict[str, dict[str, float]]  # the same, in parts of GPUs
Terms: TypeAlias = list[tuple[int, float]]  # variables and their factors


class NoSolver(ImportError):
    """What the ideal cloud plans with is not installed."""


def check_solver() -> None:
    """Raise if nothing could be planned here: better before all other runs than after."""
    if find_spec("scipy") is None:
        raise NoSolver(
            "expected scipy, which the ideal cloud plans with, found none: pip install"
            " 'laissezcloud[sim]'"
        )


class Program:
    """A linear program, put together row by row: the variables, from 0 on, that are worth most."""

    def __init__(self) -> None:
        self._worth: list[float] = []
        self._most: list[float | None] = []
        self._bounds: list[float] = []
        self._rows: list[int] = []
        self._columns: list[int] = []
        self._factors: list[float] = []

    def variable(self, worth: float, most: float | None = None) -> int:
        self._worth.append(worth)
        self._most.append(most)
        return len(self._worth) - 1

    def at_most(self, terms: Terms, bound: float) -> None:
        self._rows += [len(self._bounds)] * len(terms)
        self._columns += [column for column, _ in terms]
        self._factors += [factor for _, factor in terms]
        self._bounds.append(bound)

    def solved(self) -> list[float]:
        optimize, sparse = _scipy()
        matrix = sparse.csr_array(
            (self._factors, (self._rows, self._columns)),
            shape=(len(self._bounds), len(self._worth)),
        )
        limits = [(0.0, most) for most in self._most]
        found = optimize.linprog(
            [-worth for worth in self._worth],
            A_ub=matrix,
            b_ub=self._bounds,
            bounds=limits,
            method="highs",
        )
        if found.status != 0:
            raise AssertionError(f"expected a plan, found none: {found.message}")
        return [float(number) for number in found.x]


class Timetable:
    """`held` is what each tenant has now, `supply` what there is for them."""

    def __init__(
        self, outlooks: Mapping[str, Outlook], held: Counts, supply: Mapping[str, int], now: int
    ) -> None:
        self._outlooks, self._held, self._supply = outlooks, held, supply
        self._edges = _edges(now, max(one.due for one in outlooks.values()))

    def first(self) -> dict[str, dict[str, int]]:
        """What each tenant is to have in the first bin."""
        found = self._solved(frozenset())
        other = frozenset(
            pair for name, shares in found.items() for pair in self._minor(name, shares)
        )
        return self._whole(self._solved(other) if other else found)

    def _minor(self, name: str, shares: Mapping[str, float]) -> list[tuple[str, str]]:
        """The types that a job should rather not have, since it does not mix them."""
        job = self._outlooks[name]
        if (
            not isinstance(job, Job)
            or not job.one_type
            or sum(share > TINY for share in shares.values()) < 2
        ):
            return []
        best = max(shares, key=lambda tree: (shares[tree] * job.rates[tree], tree))
        return [(name, tree) for tree in shares if tree != best]

    def _solved(self, barred: frozenset[tuple[str, str]]) -> Shares:
        self._program, self._barred = Program(), barred
        self._used: dict[tuple[str, int], Terms] = {}  # by type and bin
        self._first: dict[str, dict[str, list[int]]] = {name: {} for name in self._outlooks}
        for name, one in self._outlooks.items():
            if isinstance(one, Job):
                self._add_job(name, one)
            else:
                self._add_service(name, one)
        for (tree, _), terms in self._used.items():
            self._program.at_most(terms, self._supply.get(tree, 0))
        found = self._program.solved()
        return {
            name: {tree: sum(found[at] for at in gpus) for tree, gpus in first.items()}
            for name, first in self._first.items()
        }

    def _add_job(self, name: str, job: Job) -> None:
        """Progress, of which more than all is worth nothing, is what is done and what GPUs do, less
        what it costs to let them come and go."""
        program = self._program
        progress: Terms = [(program.variable(1.0, 1.0), 1.0)]
        nodes: dict[int, Terms] = {}
        for tree, rate in job.rates.items():
            before: list[int] = []
            for at, hours in self._bins(job.due):
                late = (self._edges[at] - self._edges[0]) / (job.due - self._edges[0])
                gpus = program.variable(
                    -EARLY * rate * hours * (1 + late),
                    0.0 if (name, tree) in self._barred else None,
                )
                progress += [
                    (gpus, -rate * hours),
                    (self._come(name, tree, [gpus], before, TINY), rate * job.come_h),
                ]
                if at == 0:
                    progress.append((self._go(name, tree, gpus), rate * job.go_h))
                self._use(name, tree, at, [gpus])
                nodes.setdefault(at, []).append((gpus, 1.0))
                before = [gpus]
        program.at_most(progress, job.done)
        for terms in nodes.values():
            program.at_most(terms, job.nodes_max)

    def _add_service(self, name: str, service: Service) -> None:
        """Each level of load is served as far as both pools go."""
        program = self._program
        before: dict[str, list[int]] = {}
        for at, hours in self._bins(service.due):
            levels = service.between(self._edges[at], min(self._edges[at + 1], service.due))
            per_hour = sum(level.weight for level in levels) / hours
            reads = {
                tree: program.variable(-EARLY * per_hour * hours / 10) for tree in service.trees
            }
            writes = {
                tree: program.variable(-EARLY * per_hour * hours / 10) for tree in service.trees
            }
            for level in levels:
                served = program.variable(level.weight, 1.0)
                for pool, need in ((reads, level.prefill), (writes, level.decode)):
                    program.at_most(
                        [
                            (served, 1.0),
                            *((pool[tree], -1 / (need[tree] + WHOLE)) for tree in service.trees),
                        ],
                        0.0,
                    )
            for tree in service.trees:
                gpus = [reads[tree], writes[tree]]
                self._come(name, tree, gpus, before.get(tree, []), service.come_h * per_hour / 4)
                self._use(name, tree, at, gpus)
                before[tree] = gpus

    def _bins(self, due: int) -> list[tuple[int, float]]:
        """Those before `due`, with their hours."""
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

    def _come(self, name: str, tree: str, gpus: list[int], before: list[int], cost: float) -> int:
        """How many more there are than in the bin before, or now."""
        come = self._program.variable(-cost)
        terms = [(come, -1.0), *((each, 1.0) for each in gpus), *((each, -1.0) for each in before)]
        self._program.at_most(terms, 0.0 if before else self._held[name].get(tree, 0))
        return come

    def _go(self, name: str, tree: str, gpus: int) -> int:
        """How many fewer there are than now."""
        go = self._program.variable(-TINY)
        self._program.at_most([(gpus, -1.0), (go, -1.0)], -self._held[name].get(tree, 0))
        return go

    def _whole(self, shares: Shares) -> dict[str, dict[str, int]]:
        counts: dict[str, dict[str, int]] = {name: {} for name in shares}
        for tree, there in self._supply.items():
            exact = {name: share[tree] for name, share in shares.items() if tree in share}
            given = {name: self._rounded(name, tree, share) for name, share in exact.items()}
            while sum(given.values()) > there:
                given[max(given, key=lambda name: (given[name] - exact[name], name))] -= 1
            while sum(given.values()) < there and given:
                most = max(given, key=lambda name: (exact[name] - given[name], name))
                if exact[most] - given[most] < ADDED_MIN:
                    break
                given[most] += 1
            for name, count in given.items():
                counts[name][tree] = count if count >= self._fewest(name, tree) else 0
        return {
            name: {} if self._is_too_few(name, given) else given for name, given in counts.items()
        }

    def _rounded(self, name: str, tree: str, share: float) -> int:
        """A job keeps what it has where that is within one of the plan; a service that is only a
        little short makes everybody wait."""
        if isinstance(self._outlooks[name], Service):
            return math.ceil(share - ADDED_MIN)
        low, high = math.floor(share + TINY), math.ceil(share - TINY)
        return min(max(self._held[name].get(tree, 0), low), high)

    def _is_too_few(self, name: str, counts: Mapping[str, int]) -> bool:
        """One engine either reads or writes; a service needs both."""
        return isinstance(self._outlooks[name], Service) and sum(counts.values()) < 2

    def _fewest(self, name: str, tree: str) -> int:
        one = self._outlooks[name]
        return one.nodes_min[tree] if isinstance(one, Job) else 0


def _edges(now: int, end: int) -> Sequence[int]:
    edges = [now]
    while edges[-1] < end:
        edges.append(edges[-1] + WIDTHS_US[min(len(edges), len(WIDTHS_US)) - 1])
    return edges


def _scipy() -> tuple[Any, Any]:
    check_solver()
    from scipy import optimize, sparse  # type: ignore[import-untyped, unused-ignore]

    return optimize, sparse
