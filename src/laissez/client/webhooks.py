"""For whoever receives webhooks: is this request from the service, and what does it say?

    events = verify(secret, request.headers, request.body)      raises WebhookNotGenuine
    for told in events:
        if told.n > last_seen: ...

Nothing here sends anything, and nothing is needed but the secret. It follows the Standard Webhooks
convention, so other libraries for it do too.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from laissez.client.errors import LaissezError, UsageError
from laissez.wire.events import Numbered
from laissez.wire.webhooks import SECRET_PREFIX, Delivery

# how far a delivery's clock may be from ours; an old one that is played again is further
TOLERANCE_S: Final = 300.0
KEY_BYTES_MIN: Final = 24  # the convention's least; ours has 32
HEADERS: Final = ("webhook-id", "webhook-timestamp", "webhook-signature")

_read = msgspec.json.Decoder(Delivery).decode


class WebhookNotGenuine(LaissezError):
    """Answer with 400 and do nothing: it was not sent by the service, not lately, or not in this
    form."""


def verify(
    secret: str | Iterable[str],
    headers: Mapping[str, str],
    body: bytes,
    *,
    tolerance_s: float = TOLERANCE_S,
    now: float | None = None,
) -> tuple[Numbered, ...]:
    """The events of a delivery, in order. `secret` may be several, any of which may have signed it;
    `now` is seconds since 1970.

    A delivery may come more than once: pass over events whose number was seen.
    """
    return delivery(secret, headers, body, tolerance_s=tolerance_s, now=now).events


def delivery(
    secret: str | Iterable[str],
    headers: Mapping[str, str],
    body: bytes,
    *,
    tolerance_s: float = TOLERANCE_S,
    now: float | None = None,
) -> Delivery:
    """The same with the id of the webhook."""
    keys = [_key(one) for one in ([secret] if isinstance(secret, str) else secret)]
    id, timestamp, signatures = _found(headers)
    _check_time(timestamp, time.time() if now is None else now, tolerance_s)
    # headers of some frameworks hold surrogates
    signed = f"{id}.{timestamp}.".encode("utf-8", "surrogatepass") + body
    expected = [hmac.digest(key, signed, hashlib.sha256) for key in keys]
    given = [_decoded(one) for one in signatures.split(" ")]
    # Every pair is compared, each in constant time: how long it takes tells nothing about the
    # secret.
    if not any([hmac.compare_digest(one, other) for one in expected for other in given]):
        raise WebhookNotGenuine("webhook-signature: expected one made with this secret, found none")
    try:
        return _read(body)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise WebhookNotGenuine(
            "the body is signed but cannot be read; is this version of laissez older than the"
            f" server's? {error}"
        ) from None


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except (ValueError, binascii.Error):
        key = b""
    # with no key at all, anybody could sign
    if not secret.startswith(SECRET_PREFIX) or len(key) < KEY_BYTES_MIN:
        raise UsageError(
            f"expected a webhook's secret, {SECRET_PREFIX} and base64, found something else of"
            f" {len(secret)} characters"
        )
    return key


def _found(headers: Mapping[str, str]) -> tuple[str, str, str]:
    lower = {name.lower(): value for name, value in headers.items()}
    missing = [name for name in HEADERS if name not in lower]
    if missing:
        raise WebhookNotGenuine(f"expected the headers {', '.join(HEADERS)}, found no {missing[0]}")
    id, timestamp, signatures = (lower[name] for name in HEADERS)
    return id, timestamp, signatures


def _check_time(timestamp: str, now: float, tolerance_s: float) -> None:
    if not timestamp.isascii() or not timestamp.isdigit() or len(timestamp) > 12:
        raise WebhookNotGenuine(
            f"webhook-timestamp: expected whole seconds since 1970, found {timestamp[:40]!r}"
        )
    if abs(now - int(timestamp)) > tolerance_s:
        raise WebhookNotGenuine(
            f"webhook-timestamp: expected a time within {tolerance_s:g} seconds of now, it is"
            f" {now - int(timestamp):+.0f} s off"
        )


def _decoded(signature: str) -> bytes:
    """Empty, which is nobody's signature, for what is none of ours."""
    version, _, text = signature.partition(",")
    try:
        return base64.b64decode(text, validate=True) if version == "v1" else b""
    except (ValueError, binascii.Error):
        return b""
