"""The sources of signals, and all I/O of the operator's side."""

from laissez.operators.sources.csv_trace import CsvTrace
from laissez.operators.sources.prometheus import PrometheusQuery
from laissez.operators.sources.source import PythonCallable, Source

__all__ = ["CsvTrace", "PrometheusQuery", "PythonCallable", "Source"]
