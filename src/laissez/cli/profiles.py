"""The server and the key of the command line.

Flags come first, then a profile named with `--profile`, then the environment, then the profile of
`LAISSEZ_PROFILE` or the file's `default`:

    # ~/.config/laissez/config.toml
    default = "lab"

    [profiles.lab]
    url = "https://market.example.org"
    key_file = "~/.config/laissez/lab.key"

A key is never an argument, because every user of the machine can read those, and never in this
file, so that the file can be shared. The key of a profile goes to the address of that profile
alone; for another address, name a key with `--key-file` or in the environment.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

import msgspec

from laissez.config import Reader, load_toml

DEFAULT_URL = "http://127.0.0.1:8340"
PORTS = {"http": 80, "https": 443}


class ConfigError(Exception):
    """The configuration of the command line, or a key file, cannot be used."""


class Profile(msgspec.Struct, frozen=True):
    """`insecure` lets the key travel over http to another machine, in a network that you trust."""

    REFUSED: ClassVar = {"key": 'a key belongs into a file of its own: key_file = "..."'}

    url: str | None = None
    key_file: str | None = None
    insecure: bool = False


class Config(msgspec.Struct, frozen=True):
    default: str | None = None
    profiles: dict[str, Profile] = {}


class Target(msgspec.Struct, frozen=True):
    """A server and a key, which is never shown.

    `key_from` says where the key comes from, `key_file` names its file, and `withheld` says why
    there is no key although a profile names one.
    """

    url: str
    insecure: bool = False
    key: str | None = None
    key_from: str | None = None
    key_file: Path | None = None
    withheld: str | None = None

    def __repr__(self) -> str:
        return f"Target(url={self.url!r}, key_from={self.key_from!r})"


def config_path(environment: Mapping[str, str]) -> Path:
    folder = environment.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(folder).expanduser() / "laissez" / "config.toml"


def read_config(path: Path) -> Config:
    """The configuration, empty if there is no such file."""
    reader = Reader(str(path))
    config = reader.table((), Config, load_toml(path, ConfigError) if path.exists() else {})
    reader.check(ConfigError)
    assert config is not None
    return config


def find_target(
    url: str | None = None,
    profile: str | None = None,
    key_file: Path | None = None,
    insecure: bool = False,
    environment: Mapping[str, str] | None = None,
) -> Target:
    """The server and key that flags, environment and configuration file name together."""
    environment = os.environ if environment is None else environment
    path = config_path(environment)
    config = read_config(path)

    def find_profile(name: str | None, named_by: str) -> Profile | None:
        if name and name not in config.profiles:
            known = ", ".join(sorted(config.profiles)) or "none"
            raise ConfigError(f"{named_by}: expected a profile of {path} ({known}), found {name!r}")
        return config.profiles[name] if name else None

    named = find_profile(profile, "--profile")
    used = (
        named
        or find_profile(environment.get("LAISSEZ_PROFILE"), "LAISSEZ_PROFILE")
        or find_profile(config.default, "default")
        or Profile()
    )
    profile_url = used.url or DEFAULT_URL
    address = (
        url or (named and named.url) or environment.get("LAISSEZ_URL") or used.url or DEFAULT_URL
    )
    is_own = _is_same_server(address, profile_url)
    target = Target(address, insecure or (used.insecure and is_own))
    if key_file is not None:
        return _with_key_file(target, key_file, "--key-file")
    if named is not None and named.key_file and is_own:
        return _with_key_file(target, Path(named.key_file), f"profile {profile} in {path}")
    if key := environment.get("LAISSEZ_KEY"):
        key = _checked(key.strip(), "LAISSEZ_KEY")
        return msgspec.structs.replace(target, key=key, key_from="LAISSEZ_KEY")
    if variable := environment.get("LAISSEZ_KEY_FILE"):
        return _with_key_file(target, Path(variable), "LAISSEZ_KEY_FILE")
    if used.key_file and is_own:
        return _with_key_file(target, Path(used.key_file), str(path))
    if used.key_file:
        withheld = (
            f"the key of the profile is for {profile_url} alone; for {address}, name one with"
            " --key-file"
        )
        return msgspec.structs.replace(target, withheld=withheld)
    return target


def _is_same_server(one: str, other: str) -> bool:
    """Whether two URLs name the same server. An invalid URL equals only itself."""
    try:
        return _server(one) == _server(other)
    except ValueError:
        return one == other


def _server(url: str) -> tuple[str, str | None, int | None, str]:
    parts = urlsplit(url)
    port = parts.port or PORTS.get(parts.scheme)
    return parts.scheme, parts.hostname, port, parts.path.rstrip("/")


def _with_key_file(target: Target, path: Path, named_by: str) -> Target:
    path = path.expanduser()
    try:
        key = path.read_text(encoding="ascii")
    except OSError as error:
        raise ConfigError(
            f"the key file {path}, named by {named_by}, cannot be read: {error.strerror}"
        ) from None
    except UnicodeDecodeError:
        key = ""
    key = _checked(key.strip(), f"the key file {path}")
    return msgspec.structs.replace(target, key=key, key_from=named_by, key_file=path)


def _checked(key: str, place: str) -> str:
    """Check the form of a key. The message must not repeat it."""
    if not key.startswith("lz_") or not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigError(f"{place}: expected one key, starting with lz_, found something else")
    return key
