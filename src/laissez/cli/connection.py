"""Commands that speak to a server: `@connected` gives them a client, `@located` the place; both the
options that say which server and which key."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec, TypeAlias

import typer

from laissez.cli.profiles import Target, target
from laissez.client import Client

P = ParamSpec("P")

UrlOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--url", help="The server. (LAISSEZ_URL, or the profile's)", rich_help_panel="Connection"
    ),
]
ProfileOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--profile",
        help="A profile of the configuration file. (LAISSEZ_PROFILE, or its default)",
        rich_help_panel="Connection",
    ),
]
KeyFileOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--key-file",
        help="The file that holds your key. (LAISSEZ_KEY_FILE or LAISSEZ_KEY, or the profile's)",
        rich_help_panel="Connection",
    ),
]
InsecureOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--insecure",
        help=(
            "Send the key over http to another machine; for networks you trust. (Or the profile's)"
        ),
        rich_help_panel="Connection",
    ),
]


def open_client(where: Target) -> Client:
    return Client(where.url, where.key, insecure=where.insecure)


def connected(command: Callable[Concatenate[Client, P], None]) -> Callable[..., None]:
    """A command for Typer from one that takes a client first."""

    def run(where: Target, **rest: Any) -> None:
        with open_client(where) as client:
            command(client, **rest)  # type: ignore[call-arg]  # the parameters are those that `command` itself declares

    return _with_options(run, command)


def located(command: Callable[Concatenate[Target, P], None]) -> Callable[..., None]:
    """A command for Typer from one that takes first where the server is, and connects by itself."""
    return _with_options(command, command)


def _with_options(call: Callable[..., None], command: Callable[..., None]) -> Callable[..., None]:
    """`call` with the options of `command`, but for its first parameter, and those that say which
    server and which key."""

    def run(
        url: UrlOption = None,
        profile: ProfileOption = None,
        key_file: KeyFileOption = None,
        insecure: InsecureOption = False,
        **rest: Any,
    ) -> None:
        where = target(url, profile, key_file, insecure)
        if where.withheld is not None:
            typer.echo(f"laissez: without a key: {where.withheld}", err=True)
        call(where, **rest)

    own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
    options = list(inspect.signature(run, eval_str=True).parameters.values())[:-1]
    run.__name__ = command.__name__
    run.__doc__ = command.__doc__
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own + options]
    )
    run.__annotations__ = {each.name: each.annotation for each in own + options}
    return run
