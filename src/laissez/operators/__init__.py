"""The operator's side: InfraMaps, which turn power, cooling, maintenance, utilisation, carbon and
policy into floors and controls of the market.

Here belong maps, their composition into commands, and the sources that feed them. Not here:
connections to a server (the caller makes the view and sends the commands), and anything about
tenants. Everything but `sources`, `Operator.read` and `read_maps` is pure: no I/O, no clock, no
randomness.
"""

from laissez.config import Instant, Price
from laissez.operators.composition import Composition, Decision
from laissez.operators.config import read_maps
from laissez.operators.controls import Controls, Move
from laissez.operators.fields import MapError, MapsFileError, OperatorError, TraceError
from laissez.operators.inframap import InfraMap, SignalMap
from laissez.operators.maintenance import Maintenance
from laissez.operators.maps import Carbon, Cooling, Power, Utilisation
from laissez.operators.operator import DryRun, Operator
from laissez.operators.pricing import Base, Hours, Priced, Term
from laissez.operators.slew import SlewLimits
from laissez.operators.sources import CsvTrace, PrometheusQuery, PythonCallable, Source
from laissez.operators.view import (
    Alarm,
    AlarmKind,
    LeafIndex,
    Memory,
    Missing,
    OperatorView,
    Reading,
)

__all__ = [
    "Alarm",
    "AlarmKind",
    "Base",
    "Carbon",
    "Composition",
    "Controls",
    "Cooling",
    "CsvTrace",
    "Decision",
    "DryRun",
    "Hours",
    "InfraMap",
    "Instant",
    "LeafIndex",
    "Maintenance",
    "MapError",
    "MapsFileError",
    "Memory",
    "Missing",
    "Move",
    "Operator",
    "OperatorError",
    "OperatorView",
    "Power",
    "Price",
    "Priced",
    "PrometheusQuery",
    "PythonCallable",
    "Reading",
    "SignalMap",
    "SlewLimits",
    "Source",
    "Term",
    "TraceError",
    "Utilisation",
    "read_maps",
]
