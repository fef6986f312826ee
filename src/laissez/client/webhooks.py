"""Verify and decode webhooks, for programs that receive them.

    delivery = verify(secret, request.headers, request.body)  # or WebhookVerificationError
    for event in delivery.events:
        if event.n > last_seen: ...

Only the secret is needed. Signatures follow the Standard Webhooks specification, so other libraries
for it work too.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from laissez.client.errors import LaissezError, UsageError
from laissez.wire.webhooks import SECRET_PREFIX, Delivery

# between the sender's clock and ours; rejects replays of old deliveries
TOLERANCE_S: Final = 300.0
KEY_BYTES_MIN: Final = 24  # the least of the specification; our secrets have 32
HEADERS: Final = ("webhook-id", "webhook-timestamp", "webhook-signature")

_read = msgspec.json.Decoder(Delivery).decode


class WebhookVerificationError(LaissezError):
    """The delivery is forged, too old or malformed. Answer with 400 and do nothing."""


def verify(
    secret: str | Iterable[str],
    headers: Mapping[str, str],
    body: bytes,
    *,
    tolerance_s: float = TOLERANCE_S,
    now: float | None = None,
) -> Delivery:
    """A genuine delivery, with its events in order. If several secrets are given, any of them may
    have signed it. `now` is in seconds since 1970.

    A delivery may come more than once: skip the events whose number was seen.
    """
    keys = [_key(one) for one in ([secret] if isinstance(secret, str) else secret)]
    id, timestamp, signatures = _signature_headers(headers)
    _check_time(timestamp, time.time() if now is None else now, tolerance_s)
    # some frameworks leave surrogates in headers
    signed = f"{id}.{timestamp}.".encode("utf-8", "surrogatepass") + body
    expected = [hmac.digest(key, signed, hashlib.sha256) for key in keys]
    given = [_signature_bytes(one) for one in signatures.split(" ")]
    # Compare every pair, each in constant time, so that timing reveals nothing about the secret.
    if not any([hmac.compare_digest(one, other) for one in expected for other in given]):
        raise WebhookVerificationError(
            "webhook-signature: expected one made with this secret, found none"
        )
    try:
        return _read(body)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise WebhookVerificationError(
            "the body is signed but cannot be read; is this version of laissez older than the"
            f" server's? {error}"
        ) from None


def _key(secret: str) -> bytes:
    key = _base64(secret.removeprefix(SECRET_PREFIX))
    # with an empty key anybody could sign
    if not secret.startswith(SECRET_PREFIX) or len(key) < KEY_BYTES_MIN:
        raise UsageError(
            f"expected a webhook's secret, {SECRET_PREFIX} and base64, found something else of"
            f" {len(secret)} characters"
        )
    return key


def _signature_headers(headers: Mapping[str, str]) -> tuple[str, str, str]:
    lower = {name.lower(): value for name, value in headers.items()}
    missing = [name for name in HEADERS if name not in lower]
    if missing:
        raise WebhookVerificationError(
            f"expected the headers {', '.join(HEADERS)}, found no {missing[0]}"
        )
    id, timestamp, signatures = (lower[name] for name in HEADERS)
    return id, timestamp, signatures


def _check_time(timestamp: str, now: float, tolerance_s: float) -> None:
    if not timestamp.isascii() or not timestamp.isdigit() or len(timestamp) > 12:
        raise WebhookVerificationError(
            f"webhook-timestamp: expected whole seconds since 1970, found {timestamp[:40]!r}"
        )
    if abs(now - int(timestamp)) > tolerance_s:
        raise WebhookVerificationError(
            f"webhook-timestamp: expected a time within {tolerance_s:g} seconds of now, it is"
            f" {now - int(timestamp):+.0f} s off"
        )


def _signature_bytes(signature: str) -> bytes:
    """The signature's bytes, or none for another version."""
    version, _, text = signature.partition(",")
    return _base64(text) if version == "v1" else b""


def _base64(text: str) -> bytes:
    """The decoded bytes, or none for invalid text."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return b""
