"""Small files with a checksum over what they hold, what they are called and whose they are. One
that is damaged, of another name or of another journal would else be believed, and events passed
over, letters of others shown, deliveries signed with a key that nobody knows."""

from __future__ import annotations

import hashlib

import msgspec

BEGIN = b'{"content":'  # of every file that is sealed


class Sealed(msgspec.Struct, forbid_unknown_fields=True):
    content: msgspec.Raw
    sum: str


def seal(origin: bytes, name: str, content: bytes) -> bytes:
    """As it is stored; `content` is JSON."""
    return msgspec.json.encode(Sealed(msgspec.Raw(content), _sum(origin, name, content)))


def is_sealed(stored: bytes) -> bool:
    """Files from before there was a seal begin otherwise, and so does what is damaged there."""
    return stored.startswith(BEGIN)


def unseal(origin: bytes, name: str, stored: bytes) -> bytes:
    """Raises `msgspec.MsgspecError` or `UnicodeDecodeError` if it is not what was sealed."""
    sealed = msgspec.json.decode(stored, type=Sealed)
    content = bytes(sealed.content)
    if sealed.sum != _sum(origin, name, content):
        raise msgspec.ValidationError("its checksum differs: it is damaged, or of another journal")
    return content


def _sum(origin: bytes, name: str, content: bytes) -> str:
    return hashlib.sha256(b"\n".join((origin.hex().encode(), name.encode(), content))).hexdigest()
