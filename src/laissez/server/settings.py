"""The settings of the service: what can be set, what it is when nobody sets it, and what is
possible.

They are read from one TOML file, then the environment (`LAISSEZ_SERVER__PORT` is `port` of
`[server]`), then flags; later ones win. Each is checked where it was written, so a mistake is told
with its place. `docs/laissez.toml` shows them all.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, get_type_hints

import msgspec
from msgspec import Meta

from laissez.units import HOUR_US
from laissez.wire import limits as bounds

PREFIX = "LAISSEZ_"
# a variable with LAISSEZ_ and without this, such as LAISSEZ_MARKET, is not about a setting
BETWEEN = "__"

Text: TypeAlias = Annotated[str, Meta(min_length=1)]
Port: TypeAlias = Annotated[int, Meta(ge=0, le=65535)]  # 0: any free one
Count: TypeAlias = Annotated[int, Meta(ge=1, le=10**12)]
Bytes: TypeAlias = Annotated[int, Meta(ge=1024, le=1024**3)]
Seconds: TypeAlias = Annotated[float, Meta(gt=0, le=86_400)]
Hours: TypeAlias = Annotated[float, Meta(gt=0, le=87_600)]


RETAIN_HOURS_MIN = 48  # the digest of a day is made on the next one
_UNITS_US = {"d": 24 * HOUR_US, "h": HOUR_US}
_RETAIN = re.compile(r"off|[1-9][0-9]{0,5}[dh]")


class SettingsError(Exception):
    """Settings that cannot be used. One line for each mistake: where it was written, which field,
    what was expected, what was found."""


class _Section(msgspec.Struct, frozen=True, kw_only=True):
    pass


class Server(_Section, frozen=True):
    host: Text = "127.0.0.1"
    port: Port = 8340
    log_format: Literal["text", "json"] = "text"
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    metrics_open: bool = False
    trusted_proxies: tuple[str, ...] = ("127.0.0.1",)  # X-Forwarded-For is believed from these


class Data(_Section, frozen=True):
    """Relative paths start at the working folder, wherever they were written."""

    folder: Text = "laissez-data"
    topology: Text = "cluster.toml"


class Journal(_Section, frozen=True):
    snapshot_every_s: Annotated[float, Meta(ge=60, le=86_400)] = 60.0
    snapshots_kept: Count = 2
    retain: Text = "off"  # days or hours, such as 90d or 72h; older entries move into archives

    @property
    def retain_us(self) -> int | None:
        """None if entries stay where they are for ever."""
        return None if self.retain == "off" else int(self.retain[:-1]) * _UNITS_US[self.retain[-1]]


class Books(_Section, frozen=True):
    keep_hours: Hours = 24.0
    close_after_commands: Count = 1_000_000


class Limits(_Section, frozen=True):
    """The bounds of `laissez.wire.limits` that an operator may move, by the same names. The others
    are promises of the API."""

    head_within_s: Seconds = float(bounds.HEAD_WITHIN_S)
    body_within_s: Seconds = float(bounds.BODY_WITHIN_S)
    connections_max: Count = bounds.CONNECTIONS_MAX
    body_bytes_max: Bytes = bounds.BODY_BYTES_MAX
    batch_bytes_max: Bytes = bounds.BATCH_BYTES_MAX
    batch_commands_max: Count = bounds.BATCH_COMMANDS_MAX
    instances_per_request_max: Count = bounds.INSTANCES_PER_REQUEST_MAX
    # the market itself allows no more
    open_orders_max: Annotated[int, Meta(ge=1, le=bounds.OPEN_ORDERS_MAX)] = bounds.OPEN_ORDERS_MAX
    commands_per_second: Count = bounds.COMMANDS_PER_SECOND
    commands_burst: Count = bounds.COMMANDS_BURST
    refusals_per_second: Count = bounds.REFUSALS_PER_SECOND
    refusals_burst: Count = bounds.REFUSALS_BURST
    wait_s_max: Seconds = bounds.WAIT_S_MAX
    sessions_max: Count = bounds.SESSIONS_MAX
    operator_sessions_max: Count = bounds.OPERATOR_SESSIONS_MAX
    heartbeat_s: Seconds = float(bounds.HEARTBEAT_S)
    dead_after_s: Seconds = float(bounds.DEAD_AFTER_S)
    outbound_messages_max: Count = bounds.OUTBOUND_MESSAGES_MAX
    outbound_bytes_max: Bytes = bounds.OUTBOUND_BYTES_MAX
    idempotency_hours: Hours = float(bounds.IDEMPOTENCY_HOURS)
    idempotency_keys_max: Count = bounds.IDEMPOTENCY_KEYS_MAX
    history_hours: Hours = float(bounds.HISTORY_HOURS)
    history_events_max: Count = bounds.HISTORY_EVENTS_MAX
    page_default: Count = bounds.PAGE_DEFAULT
    page_max: Count = bounds.PAGE_MAX
    pending_commands_max: Count = bounds.PENDING_COMMANDS_MAX


class Audit(_Section, frozen=True):
    """Of the log of refusals. What is beyond its bounds is counted; digests are kept for ever."""

    keep_days: Annotated[int, Meta(ge=1, le=36_500)] = 90
    lines_per_second: Annotated[int, Meta(ge=1, le=10_000)] = 100
    lines_per_day: Annotated[int, Meta(ge=1, le=10**9)] = 50_000


class Stream(_Section, frozen=True):
    rate_every_s: Seconds = 1.0


class Webhooks(_Section, frozen=True):
    enabled: bool = True
    allow_http: bool = False
    allow_addresses: tuple[str, ...] = ()
    timeout_s: Annotated[float, Meta(gt=0, le=60)] = 10.0
    dead_after_hours: Hours = 24.0
    deliveries_max: Annotated[int, Meta(ge=1, le=1_000)] = 16


class Settings(_Section, frozen=True):
    server: Server = Server()
    data: Data = Data()
    journal: Journal = Journal()
    books: Books = Books()
    limits: Limits = Limits()
    stream: Stream = Stream()
    audit: Audit = Audit()
    webhooks: Webhooks = Webhooks()


SECTIONS: dict[str, type[_Section]] = get_type_hints(Settings)
FIELDS: dict[str, dict[str, Any]] = {
    section: get_type_hints(struct, include_extras=True) for section, struct in SECTIONS.items()
}

# Fields that make no sense apart: the first may not be more than the second.
NOT_MORE_THAN = (
    ("limits", "page_default", "page_max"),
    ("limits", "body_bytes_max", "batch_bytes_max"),
    ("limits", "heartbeat_s", "dead_after_s"),
    # else a large one would be told for ever to try again in a moment
    ("limits", "batch_commands_max", "pending_commands_max"),
    ("limits", "instances_per_request_max", "pending_commands_max"),
)


def read_settings(
    file: Path | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, Mapping[str, object]] | None = None,
) -> Settings:
    """The settings of `file`, overruled by the environment (this process's unless given), overruled
    by `flags`, in which `None` means not given."""
    reading = _Reading()
    if file is not None:
        reading.take(str(file), _file(file), strict=True)
    for variable, section, field, text in _variables(
        os.environ if environment is None else environment
    ):
        reading.take(variable, {section: {field: text}}, strict=False)
    for section, fields in (flags or {}).items():
        reading.take(
            "command line",
            {section: {name: value for name, value in fields.items() if value is not None}},
            strict=True,
        )
    return reading.settings()


class _Reading:
    """Settings while they are gathered: the value of each field that was set, where it was set, and
    all that is wrong."""

    def __init__(self) -> None:
        self.values: dict[tuple[str, str], object] = {}
        self.places: dict[tuple[str, str], str] = {}
        self.mistakes: list[str] = []

    def take(self, place: str, sections: Mapping[str, object], strict: bool) -> None:
        """Add what was written at `place`. Unless `strict`, everything there is text, and read as
        what the field needs."""
        for section, fields in sections.items():
            if section not in FIELDS:
                self.mistakes.append(
                    f"{place}: {section}: expected one of the sections {', '.join(FIELDS)}, found"
                    f" {section!r}"
                )
            elif not isinstance(fields, Mapping):
                self.mistakes.append(
                    f"{place}: {section}: expected a section with fields, found {_shown(fields)}"
                )
            else:
                for field, value in fields.items():
                    self._field(place, section, field, value, strict)

    def _field(self, place: str, section: str, field: str, value: object, strict: bool) -> None:
        if field not in FIELDS[section]:
            self.mistakes.append(
                f"{place}: {section}.{field}: expected one of {', '.join(FIELDS[section])}, found"
                f" {field!r}"
            )
            return
        if not strict and FIELDS[section][field] == tuple[str, ...] and isinstance(value, str):
            value = [part.strip() for part in value.split(",")]
        try:
            self.values[section, field] = msgspec.convert(
                value, FIELDS[section][field], strict=strict
            )
        except msgspec.ValidationError as error:
            self.mistakes.append(
                f"{place}: {section}.{field}: {_expected(error, FIELDS[section][field])}, found"
                f" {_shown(value)}"
            )
        self.places[section, field] = place

    def settings(self) -> Settings:
        sections: dict[str, Any] = {
            section: struct(**self._section(section)) for section, struct in SECTIONS.items()
        }
        settings = Settings(**sections)
        self._compare(settings)
        self._check_networks("webhooks", "allow_addresses", settings.webhooks.allow_addresses)
        self._check_networks("server", "trusted_proxies", settings.server.trusted_proxies)
        self._check_retain(settings)
        if self.mistakes:
            raise SettingsError("\n".join(self.mistakes))
        return settings

    def _section(self, section: str) -> dict[str, object]:
        return {name: value for (of, name), value in self.values.items() if of == section}

    def _compare(self, settings: Settings) -> None:
        for section, less, more in NOT_MORE_THAN:
            values = getattr(settings, section)
            small, large = getattr(values, less), getattr(values, more)
            if small > large:
                place = self.places.get((section, less)) or self.places[section, more]
                self.mistakes.append(
                    f"{place}: {section}.{less}: expected at most {section}.{more}, which is"
                    f" {large}, found {small}"
                )

    def _check_networks(self, section: str, field: str, networks: tuple[str, ...]) -> None:
        for network in networks:
            try:
                ip_network(network)
            except ValueError:
                expected = (
                    "networks such as 10.1.0.0/16 or fd00::/8, with no bit set after the prefix"
                )
                self.mistakes.append(
                    f"{self.places[section, field]}: {section}.{field}: expected {expected}, found"
                    f" {_shown(network)}"
                )

    def _check_retain(self, settings: Settings) -> None:
        """Entries that the service itself still reads must not be moved away."""
        retain = settings.journal.retain
        hours_min = max(
            RETAIN_HOURS_MIN,
            settings.limits.history_hours,
            settings.limits.idempotency_hours,
            settings.webhooks.dead_after_hours,
            settings.books.keep_hours,
        )
        if not _RETAIN.fullmatch(retain):
            expected = "off, or days or hours such as 90d or 72h"
        elif (retain_us := settings.journal.retain_us) and retain_us < hours_min * HOUR_US:
            expected = f"at least {hours_min:g}h, which the service itself reads"
        else:
            return
        place = self.places["journal", "retain"]
        self.mistakes.append(f"{place}: journal.retain: expected {expected}, found {retain!r}")


def _file(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(
            f"{path}: expected a file of settings that can be read: {error.strerror}"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: expected TOML: {error}") from None


def _variables(environment: Mapping[str, str]) -> Iterator[tuple[str, str, str, str]]:
    """Every variable about a setting, with section, field and text. An empty one counts as not set,
    as shells and containers leave them behind."""
    for variable in sorted(environment):
        section, between, field = variable.removeprefix(PREFIX).lower().partition(BETWEEN)
        if variable.startswith(PREFIX) and between and environment[variable]:
            yield variable, section, field, environment[variable]


def _expected(error: msgspec.ValidationError, kind: Any) -> str:
    """What msgspec expected, in words; it does not list the choices itself."""
    choices = getattr(kind, "__args__", ()) if getattr(kind, "__origin__", None) is Literal else ()
    if choices:
        return f"expected one of {', '.join(choices)}"
    said = str(error).partition(", got ")[0].replace("`", "")
    return said[:1].lower() + said[1:]


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "..."
