"""The operator's side: InfraMaps, which turn power, cooling, maintenance, utilisation, carbon and
policy into floors and controls of the market.

Here belong maps, their composition into commands, and the sources that feed them. Not here:
speaking to a server (the caller takes the view from it and sends the commands), and anything about
tenants. All but `sources`, `Operator.read` and `read_maps` is pure: no I/O, no clock, no
randomness.
"""

from laissez.config import Instant, Price
from laissez.operators.alarms import Alarm, AlarmKind
from laissez.operators.base import Base, Hours
from laissez.operators.carbon import Carbon
from laissez.operators.composition import Composition, Decision
from laissez.operators.config import read_maps
from laissez.operators.controls import Controls, Move
from laissez.operators.cooling import Cooling
from laissez.operators.course import Pace
from laissez.operators.errors import MapError, MapsFileError, OperatorError, TraceError
from laissez.operators.inframap import InfraMap, SignalMap
from laissez.operators.maintenance import Maintenance
from laissez.operators.memory import Memory
from laissez.operators.operator import Operator
from laissez.operators.places import Places
from laissez.operators.power import Power
from laissez.operators.pricing import Priced, Term
from laissez.operators.reading import Missing, Reading
from laissez.operators.rehearsal import Rehearsal
from laissez.operators.sources import CsvTrace, PrometheusQuery, PythonCallable, Source
from laissez.operators.utilisation import Utilisation
from laissez.operators.view import OperatorView

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
    "Hours",
    "InfraMap",
    "Instant",
    "Maintenance",
    "MapError",
    "MapsFileError",
    "Memory",
    "Missing",
    "Move",
    "Operator",
    "OperatorError",
    "OperatorView",
    "Pace",
    "Places",
    "Power",
    "Price",
    "Priced",
    "PrometheusQuery",
    "PythonCallable",
    "Reading",
    "Rehearsal",
    "SignalMap",
    "Source",
    "Term",
    "TraceError",
    "Utilisation",
    "read_maps",
]
