"""A signal from Prometheus: an instant query, of which one number is expected.

How old that number is matters more than when it was asked for: Prometheus answers an instant query
with samples up to five minutes old and dates them now. So the same expression is also asked for its
`timestamp()`. The age is the difference of two times of Prometheus, so it does not matter whether
its clock agrees with ours. (Of an expression that computes, such as `sum(...)`, Prometheus knows no
age: it counts as new.)
"""

from __future__ import annotations

import math
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar, Final, Literal, NamedTuple, TypeAlias

import httpx
import msgspec
from msgspec import Meta

from laissez.config import shown
from laissez.operators.errors import MapError
from laissez.operators.fields import Text
from laissez.operators.reading import Missing, Reading
from laissez.operators.sources.source import Source
from laissez.units import SECOND_US

Take: TypeAlias = Literal["only", "min", "max", "mean", "sum"]
TAKES: Final[dict[str, Callable[[Sequence[float]], float]]] = {
    "only": lambda values: values[0],
    "min": min,
    "max": max,
    "mean": lambda values: math.fsum(values) / len(values),
    "sum": math.fsum,
}


BODY_BYTES_MAX: Final = 1 << 20  # a few thousand series; one is wanted


class _Data(msgspec.Struct):
    resultType: str  # noqa: N815  as Prometheus spells it
    result: msgspec.Raw


class _Answer(msgspec.Struct):
    status: str
    data: _Data | None = None
    error: str = ""


class _Series(msgspec.Struct):
    value: tuple[float, str]


class _Sample(NamedTuple):
    at_s: float
    value: float


class _NoAnswer(Exception):
    pass


@dataclass(kw_only=True)
class PrometheusQuery(Source):
    """`take` says how several samples become one; `only` refuses several. The token is read for
    every query, as tokens are renewed. A proxy of the environment is not used."""

    url: Text = field(repr=False)  # may hold a password
    query: Text
    timeout_s: Annotated[float, Meta(gt=0, le=60)] = 5.0
    take: Take = "only"
    token_file: Path | None = None
    ca_file: Path | None = None
    is_remote: ClassVar[bool] = True

    def __post_init__(self) -> None:
        try:
            address = httpx.URL(self.url)
        except httpx.InvalidURL as error:
            raise MapError(f"url: expected the address of a Prometheus: {error}") from None
        if address.scheme not in ("http", "https") or not address.host:
            raise MapError(
                'url: expected the address of a Prometheus, such as "http://127.0.0.1:9090", found'
                " another"
            )
        self._place = str(address.copy_with(userinfo=b""))
        self._http = httpx.Client(
            base_url=address, timeout=self.timeout_s, trust_env=False, verify=self._trusted(address)
        )

    def _trusted(self, address: httpx.URL) -> ssl.SSLContext | bool:
        """Who may vouch for the server. Without TLS nobody has to, and the list of those who may
        takes long to load."""
        if address.scheme == "http":
            return False
        try:
            return ssl.create_default_context(cafile=self.ca_file)
        except OSError as error:
            raise MapError(f"ca_file: expected certificates in PEM: {error}") from None

    def read(self, now: int) -> Reading | Missing:
        try:
            kind, samples = self._ask(self.query)
            if not samples or (self.take == "only" and len(samples) > 1):
                return Missing(
                    f"expected one sample from {self._place}, found {len(samples)}{_hint(samples)}"
                )
            dated = self._ask(f"timestamp({self.query}\n)")[1] if kind == "vector" else []
        except _NoAnswer as error:
            return Missing(f"no answer from {self._place}: {error}")
        age_s = max((sample.at_s - sample.value for sample in dated), default=0.0)
        return Reading(
            _taken(self.take, [sample.value for sample in samples]),
            now - max(0, round(age_s * SECOND_US)),
        )

    def _ask(self, query: str) -> tuple[str, list[_Sample]]:
        """What kind of result it is, and its samples."""
        status, body = self._body(query)
        try:
            answer = msgspec.json.decode(body, type=_Answer)
            if answer.data is None:
                raise _NoAnswer(f"{status} {answer.error}")
            return answer.data.resultType, _samples(answer.data)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise _NoAnswer(
                f"expected the JSON of a query, found {status} {shown(body[:40])}: {error}"
            ) from None

    def _body(self, query: str) -> tuple[int, bytes]:
        body = b""
        try:
            headers = (
                {}
                if self.token_file is None
                else {"Authorization": f"Bearer {self.token_file.read_text().strip()}"}
            )
            with self._http.stream(
                "POST", "/api/v1/query", data={"query": query}, headers=headers
            ) as response:
                for chunk in response.iter_bytes():
                    body += chunk
                    if len(body) > BODY_BYTES_MAX:
                        raise _NoAnswer(f"expected at most {BODY_BYTES_MAX} bytes, found more")
                return response.status_code, body
        # also of odd addresses and a closed client
        except (httpx.HTTPError, httpx.InvalidURL, OSError, RuntimeError, ValueError) as error:
            raise _NoAnswer(f"{type(error).__name__} {error}") from None

    def close(self) -> None:
        self._http.close()


def _samples(data: _Data) -> list[_Sample]:
    if data.resultType == "scalar":
        at, text = msgspec.json.decode(data.result, type=tuple[float, str])
        return [_Sample(at, _number(text))]
    if data.resultType == "vector":
        return [
            _Sample(series.value[0], _number(series.value[1]))
            for series in msgspec.json.decode(data.result, type=list[_Series])
        ]
    raise _NoAnswer(f"expected a scalar or an instant vector, found a {data.resultType}")


def _number(text: str) -> float:
    """Prometheus writes numbers as text, among them NaN, +Inf and -Inf."""
    try:
        return float(text)
    except ValueError:
        raise _NoAnswer(f"expected a number, found {shown(text)}") from None


def _taken(take: Take, values: Sequence[float]) -> float:
    """One for all; if one of them is not finite that one, as no sum or maximum of it means
    anything. It ends as an alarm that tells it."""
    absurd = [value for value in values if not math.isfinite(value)]
    return absurd[0] if absurd else TAKES[take](values)


def _hint(samples: Sequence[_Sample]) -> str:
    return (
        "; ask for an aggregate such as max(...), or set `take`"
        if samples
        else ": there is no such series now"
    )
