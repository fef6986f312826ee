"""The server and key that the client uses, and refusals to send the key."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from laissez.client import AsyncClient, AsyncSession, Client, Session, UsageError
from laissez.client.endpoint import find_endpoint

pytestmark = pytest.mark.once

KEY = "lz_4f2a_" + "S" * 43


def test_arguments_come_before_the_environment(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("lz_of_the_file\n")
    environment = {
        "LAISSEZ_URL": "https://market.example/",
        "LAISSEZ_KEY_FILE": str(tmp_path / "key"),
    }
    found = find_endpoint(None, None, False, environment)
    assert ("https://market.example", "lz_of_the_file") == (found.url, found.key)
    assert (
        "lz_env" == find_endpoint(None, None, False, {**environment, "LAISSEZ_KEY": "lz_env"}).key
    )
    assert "lz_arg" == find_endpoint(None, "lz_arg", False, environment).key
    assert ("http://127.0.0.1:8340", None) == (
        find_endpoint(None, None, False, {}).url,
        find_endpoint(None, None, False, {}).key,
    )


def test_the_session_url_follows_from_the_url() -> None:
    assert (
        "wss://market.example/v1/session"
        == find_endpoint("https://market.example/", None, False, {}).session_url
    )


@pytest.mark.parametrize(
    "host", ["127.0.0.1:80", "localhost", "[::1]:8340", "127.8.9.1", "[::ffff:127.0.0.1]"]
)
def test_plain_http_is_allowed_on_loopback(host: str) -> None:
    assert find_endpoint(f"http://{host}", KEY, False, {}).is_local


@pytest.mark.parametrize(
    "host",
    [
        "market.example",
        "10.0.0.1",
        "localhost.example",
        "127.0.0.1.example",
        "[::ffff:10.0.0.1]",
        "[::]",
    ],
)
def test_a_key_is_not_sent_over_plain_http(host: str) -> None:
    with pytest.raises(UsageError, match="use https") as refused:
        find_endpoint(f"http://{host}", KEY, False, {})
    assert KEY not in str(refused.value)
    assert KEY == find_endpoint(f"http://{host}", KEY, True, {}).key
    assert KEY == find_endpoint(f"https://{host}", KEY, False, {}).key
    assert None is find_endpoint(f"http://{host}", None, False, {}).key


NO_HOSTS = [
    "http://a..b",
    f"http://{'a' * 300}",
    "http://xn--a",
    "http://a\u200db",
    "http://\udcff",
    f"http://x/{'a' * 70_000}",
]


@pytest.mark.parametrize(
    "url",
    [
        "market.example",
        "ftp://market.example",
        "http://",
        "http://x:port",
        "https://x/?a=1",
        f"https://ann:{KEY}@x",
        *NO_HOSTS,
    ],
)
def test_an_invalid_url_is_refused_without_showing_secrets(url: str) -> None:
    with pytest.raises(UsageError) as refused:
        find_endpoint(url, None, False, {})
    assert KEY not in str(refused.value)


@pytest.mark.parametrize("key", ["", " ", f"{KEY}\r\nX: y", "schlüssel"])
def test_an_invalid_key_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(UsageError, match="the key is not shown") as refused:
        find_endpoint(None, key, False, {})
    assert not key.strip() or key not in str(refused.value)


@pytest.mark.parametrize("make", [Client, AsyncClient, AsyncSession, Session])
def test_no_repr_holds_the_key(make: Callable[[str, str], object]) -> None:
    made = make("http://127.0.0.1:1", KEY)
    shown = repr(made) + repr(vars(made)) + repr(find_endpoint(None, KEY, False, {}))
    assert "127.0.0.1" in shown
    assert KEY not in shown
