"""The settings of the service, with their defaults and bounds: `docs/examples/laissez.toml`.

Settings come from a TOML file, then the environment (`LAISSEZ_SERVER__PORT` is `port` of
`[server]`), then flags; later sources win. An error names the source of the value.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, get_type_hints

import msgspec
from msgspec import Meta

from laissez.config import Place, Reader, load_toml, shown, unknown
from laissez.units import HOUR_US, TimeError, parse_duration
from laissez.wire import limits as bounds

PREFIX = "LAISSEZ_"
# a variable without this separator, such as LAISSEZ_MARKET, is no setting
BETWEEN = "__"

Text: TypeAlias = Annotated[str, Meta(min_length=1)]
Port: TypeAlias = Annotated[int, Meta(ge=0, le=65535)]  # 0: any free one
Count: TypeAlias = Annotated[int, Meta(ge=1, le=10**12)]
Bytes: TypeAlias = Annotated[int, Meta(ge=1024, le=1024**3)]
Seconds: TypeAlias = Annotated[float, Meta(gt=0, le=86_400)]
Hours: TypeAlias = Annotated[float, Meta(gt=0, le=87_600)]

RETAIN_HOURS_MIN = 48  # the audit log makes the digest of a day on the next one


class SettingsError(Exception):
    """Invalid settings, with one line for each mistake."""


class _Section(msgspec.Struct, frozen=True, kw_only=True):
    pass


class Server(_Section, frozen=True):
    host: Text = "127.0.0.1"
    port: Port = 8340
    log_format: Literal["text", "json"] = "text"
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    metrics_open: bool = False
    trusted_proxies: tuple[str, ...] = ("127.0.0.1",)  # X-Forwarded-For is trusted from these


class Data(_Section, frozen=True):
    """Relative paths start at the working folder, also those in a file."""

    folder: Text = "laissez-data"
    topology: Text = "cluster.toml"


class Journal(_Section, frozen=True):
    snapshot_every_s: Annotated[float, Meta(ge=60, le=86_400)] = 60.0
    snapshots_kept: Count = 2
    retain: Text = "off"  # days or hours, such as 90d or 72h; older entries move into archives

    @property
    def retain_us(self) -> int | None:
        """None if entries are never moved."""
        return None if self.retain == "off" else parse_duration(self.retain)


class Books(_Section, frozen=True):
    keep_hours: Hours = 24.0
    close_after_commands: Count = 1_000_000


class Limits(_Section, frozen=True):
    """Limits that an operator may change. Limits known to clients have the same names in
    `laissez.wire.limits`."""

    # from the first byte of a connection or a head to the last; for a session's hello too
    head_within_s: Seconds = 10.0
    # from the head to the end of the body: the largest body needs 9 KiB per second
    body_within_s: Seconds = 30.0
    # with sessions and streams: each takes an open file and 10 to 20 KiB
    connections_max: Count = 10_000
    body_bytes_max: Bytes = bounds.BODY_BYTES_MAX
    batch_bytes_max: Bytes = bounds.BATCH_BYTES_MAX
    batch_commands_max: Count = bounds.BATCH_COMMANDS_MAX
    instances_per_request_max: Count = bounds.INSTANCES_PER_REQUEST_MAX
    # the market itself allows no more
    open_orders_max: Annotated[int, Meta(ge=1, le=bounds.OPEN_ORDERS_MAX)] = bounds.OPEN_ORDERS_MAX
    commands_per_second: Count = 100  # per tenant, on average
    commands_burst: Count = 500  # per tenant, at once
    # answered at once per tenant, and per address without a valid key; others are delayed.
    # About 1 % of a core
    refusals_per_second: Count = 100
    refusals_burst: Count = 500
    wait_s_max: Seconds = 0.05  # in the fair queue; if all requests wait longer, some get 503
    sessions_max: Count = 8  # per tenant, streams included
    # of the operator's keys together: an open console takes two
    operator_sessions_max: Count = 64
    heartbeat_s: Seconds = 15.0
    dead_after_s: Seconds = float(bounds.DEAD_AFTER_S)
    # queued for one session; beyond it the session is cut off and may resume
    outbound_messages_max: Count = 1_000
    outbound_bytes_max: Bytes = bounds.OUTBOUND_BYTES_MAX
    history_hours: Hours = 24.0  # for streams that resume and requests that are repeated
    history_events_max: Count = 1_000_000  # of all tenants; about 250 bytes each
    history_commands_max: Count = 1_000_000  # the same for commands
    page_default: Count = bounds.PAGE_DEFAULT
    page_max: Count = bounds.PAGE_MAX
    # applied and not yet durable; beyond it new ones are refused
    pending_commands_max: Count = 20_000


class Audit(_Section, frozen=True):
    """Bounds of the log of refusals. Refusals beyond them are counted; digests are kept for
    ever."""

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

# Pairs of fields: the first may not exceed the second.
NOT_MORE_THAN = (
    ("limits", "page_default", "page_max"),
    ("limits", "body_bytes_max", "batch_bytes_max"),
    ("limits", "heartbeat_s", "dead_after_s"),
    # otherwise every large batch would be refused as overload
    ("limits", "batch_commands_max", "pending_commands_max"),
    ("limits", "instances_per_request_max", "pending_commands_max"),
)


def read_settings(
    file: Path | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, Mapping[str, object]] | None = None,
) -> Settings:
    """Read settings from `file`, the environment (by default that of this process) and `flags`;
    later sources win. A flag of None counts as absent."""
    values: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
    origins: dict[Place, str] = {}
    mistakes: list[str] = []
    for source, content in _sources(file, environment, flags or {}):
        reader = Reader(source, strict=not source.startswith(PREFIX))
        for section, table in content.items():
            if section not in SECTIONS:
                reader.wrong((section,), unknown(section, SECTIONS))
                continue
            found = reader.fields((section,), SECTIONS[section], table)
            values[section] |= {name: one for name, one in found.items() if one is not None}
            origins |= {(section, name): source for name in found}
        mistakes += reader.mistakes
    sections: dict[str, Any] = {name: SECTIONS[name](**values[name]) for name in SECTIONS}
    settings = Settings(**sections)
    mistakes += _impossible(settings, origins)
    if mistakes:
        raise SettingsError("\n".join(mistakes))
    return settings


def _sources(
    file: Path | None,
    environment: Mapping[str, str] | None,
    flags: Mapping[str, Mapping[str, object]],
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The sources of settings with their values. Empty variables are ignored: shells and containers
    leave them behind."""
    if file is not None:
        yield str(file), load_toml(file, SettingsError)
    for variable, text in sorted((os.environ if environment is None else environment).items()):
        section, between, field = variable.removeprefix(PREFIX).lower().partition(BETWEEN)
        if variable.startswith(PREFIX) and between and text:
            yield variable, {section: {field: text}}
    for section, fields in flags.items():
        given = {name: value for name, value in fields.items() if value is not None}
        yield "command line", {section: given}


def _impossible(settings: Settings, origins: Mapping[Place, str]) -> Iterator[str]:
    """Invalid combinations of individually valid fields, and invalid text in valid fields."""

    def mistake(section: str, field: str, expected: str, found: object, other: str = "") -> str:
        origin = origins.get((section, field)) or origins[section, other]
        return f"{origin}: {section}.{field}: expected {expected}, found {found}"

    for section, less, more in NOT_MORE_THAN:
        values = getattr(settings, section)
        small, large = getattr(values, less), getattr(values, more)
        if small > large:
            expected = f"at most {section}.{more}, which is {large}"
            yield mistake(section, less, expected, small, more)
    for section, field in (("webhooks", "allow_addresses"), ("server", "trusted_proxies")):
        for network in filter(_is_no_network, getattr(getattr(settings, section), field)):
            expected = "networks such as 10.1.0.0/16 or fd00::/8, with no bit set after the prefix"
            yield mistake(section, field, expected, shown(network))
    if expected := _retain_expected(settings):
        yield mistake("journal", "retain", expected, repr(settings.journal.retain))


def _is_no_network(text: str) -> bool:
    try:
        ip_network(text)
    except ValueError:
        return True
    return False


def _retain_expected(settings: Settings) -> str:
    """The valid values of `retain`, if it is invalid: entries that the service itself still reads
    must not be moved."""
    hours_min = max(
        RETAIN_HOURS_MIN,
        settings.limits.history_hours,
        settings.webhooks.dead_after_hours,
        settings.books.keep_hours,
    )
    try:
        retain_us = settings.journal.retain_us
    except TimeError:
        return "off, or a duration such as 90d or 72h"
    is_enough = retain_us is None or retain_us >= hours_min * HOUR_US
    return "" if is_enough else f"at least {hours_min:g}h, which the service itself reads"
