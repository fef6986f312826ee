"""A signal from Prometheus: an instant query that returns one number.

The age of that number matters. Prometheus answers an instant query with samples up to five minutes
old and dates them now, so the `timestamp()` of the same expression is queried too. The age is the
difference of two times of Prometheus and does not depend on its clock. (Prometheus knows no age of
a computed expression such as `sum(...)`: it counts as new.)
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
from laissez.operators.fields import MapError, Text
from laissez.operators.sources.source import Source
from laissez.operators.view import Missing, Reading
from laissez.units import SECOND_US

Take: TypeAlias = Literal["only", "min", "max", "mean", "sum"]
TAKES: Final[dict[str, Callable[[Sequence[float]], float]]] = {
    "only": lambda values: values[0],
    "min": min,
    "max": max,
    "mean": lambda values: math.fsum(values) / len(values),
    "sum": math.fsum,
}
BODY_BYTES_MAX: Final = 1 << 20  # a few thousand series, where one is expected


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
    """`take` combines several samples; `only` refuses them. The token is read again for every
    query, because tokens are renewed. Proxies of the environment are ignored."""

    url: Text = field(repr=False)  # may contain a password
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
        # loading certificates takes long, and plain HTTP does not need them
        verify = self._certificates() if address.scheme == "https" else False
        self._http = httpx.Client(
            base_url=address, timeout=self.timeout_s, trust_env=False, verify=verify
        )

    def _certificates(self) -> ssl.SSLContext:
        try:
            return ssl.create_default_context(cafile=self.ca_file)
        except OSError as error:
            raise MapError(f"ca_file: expected certificates in PEM: {error}") from None

    def read(self, now: int) -> Reading | Missing:
        try:
            kind, samples = self._ask(self.query)
            if not samples or (self.take == "only" and len(samples) > 1):
                hint = "; ask for an aggregate such as max(...), or set `take`"
                return Missing(
                    f"expected one sample from {self._place}, found {len(samples)}"
                    + (hint if samples else ": there is no such series now")
                )
            dated = self._ask(f"timestamp({self.query}\n)")[1] if kind == "vector" else []
        except _NoAnswer as error:
            return Missing(f"no answer from {self._place}: {error}")
        age_s = max((sample.at_s - sample.value for sample in dated), default=0.0)
        value = _combined(self.take, [sample.value for sample in samples])
        return Reading(value, now - max(0, round(age_s * SECOND_US)))

    def _ask(self, query: str) -> tuple[str, list[_Sample]]:
        """The type of the result, and its samples."""
        status, body = self._post(query)
        try:
            answer = msgspec.json.decode(body, type=_Answer)
            if answer.data is None:
                raise _NoAnswer(f"{status} {answer.error}")
            return answer.data.resultType, _samples(answer.data)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise _NoAnswer(
                f"expected the JSON of a query, found {status} {shown(body[:40])}: {error}"
            ) from None

    def _post(self, query: str) -> tuple[int, bytes]:
        body = b""
        headers = {}
        try:
            if self.token_file is not None:
                headers["Authorization"] = f"Bearer {self.token_file.read_text().strip()}"
            with self._http.stream(
                "POST", "/api/v1/query", data={"query": query}, headers=headers
            ) as response:
                for chunk in response.iter_bytes():
                    body += chunk
                    if len(body) > BODY_BYTES_MAX:
                        raise _NoAnswer(f"expected at most {BODY_BYTES_MAX} bytes, found more")
                return response.status_code, body
        # odd addresses and a closed client raise the last two
        except (httpx.HTTPError, httpx.InvalidURL, OSError, RuntimeError, ValueError) as error:
            raise _NoAnswer(f"{type(error).__name__} {error}") from None

    def close(self) -> None:
        self._http.close()


def _samples(data: _Data) -> list[_Sample]:
    if data.resultType == "scalar":
        values = [msgspec.json.decode(data.result, type=tuple[float, str])]
    elif data.resultType == "vector":
        values = [one.value for one in msgspec.json.decode(data.result, type=list[_Series])]
    else:
        raise _NoAnswer(f"expected a scalar or an instant vector, found a {data.resultType}")
    return [_Sample(at, _number(text)) for at, text in values]


def _number(text: str) -> float:
    """Prometheus writes numbers as text, among them NaN, +Inf and -Inf."""
    try:
        return float(text)
    except ValueError:
        raise _NoAnswer(f"expected a number, found {shown(text)}") from None


def _combined(take: Take, values: Sequence[float]) -> float:
    """A value that is not finite wins, so that it ends in an alarm."""
    absurd = [value for value in values if not math.isfinite(value)]
    return absurd[0] if absurd else TAKES[take](values)
