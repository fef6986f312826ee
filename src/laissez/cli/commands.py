"""Commands that speak to a server, made of functions that take a client.

    @webhooks.command()
    @changes("{webhook} is deleted")
    def delete(client: Client, webhook: WebhookArgument, idempotency_key: str | None) -> Done:
        \"\"\"Delete a webhook.\"\"\"
        return client.delete_webhook(webhook, idempotency_key=idempotency_key)

A decorator of `kinds` adds the options of its kind (`--output`, `--watch`, `--idempotency-key`) and
those that choose the server and the key, and prints the result of the function. A command that only
calls a method of the client is one line:

    add(orders, "show", "Show one open order.", shows(ORDERS), "order", ORDER_ID)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeAlias, get_origin

import typer
from typer.core import TyperGroup

from laissez.cli.arguments import TenantOption
from laissez.cli.output import Format, FormatOption, WatchOption, opt
from laissez.cli.profiles import Target, find_target
from laissez.client import Client

Command: TypeAlias = Callable[..., None]
Kind: TypeAlias = Callable[[Callable[..., Any]], Command]  # a decorator such as `lists(ORDERS)`

UrlOption: TypeAlias = Annotated[
    str | None,
    opt("The server's URL. [LAISSEZ_URL, or the profile's]", rich_help_panel="Connection"),
]
ProfileOption: TypeAlias = Annotated[
    str | None,
    opt(
        "A profile of the configuration file. [LAISSEZ_PROFILE, or the file's default]",
        rich_help_panel="Connection",
    ),
]
KeyFileOption: TypeAlias = Annotated[
    Path | None,
    opt(
        "The file with your key. [LAISSEZ_KEY_FILE or LAISSEZ_KEY, or the profile's]",
        rich_help_panel="Connection",
    ),
]
InsecureOption: TypeAlias = Annotated[
    bool,
    opt(
        "Send the key over http to another machine; only in a network that you trust.",
        "--insecure",
        rich_help_panel="Connection",
    ),
]
IdempotencyOption: TypeAlias = Annotated[
    str | None,
    opt(
        "The key of an earlier attempt with unknown outcome; it is carried out at most once.",
        metavar="KEY",
    ),
]


def option(name: str, annotation: Any, default: object = None) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def argument(name: str, annotation: Any) -> inspect.Parameter:
    """A parameter that must be given."""
    return option(name, annotation, inspect.Parameter.empty)


OUTPUT = option("output", FormatOption, Format.TABLE)
TENANT = option("tenant", TenantOption)
WATCH = option("watch", WatchOption)
IDEMPOTENCY_KEY = option("idempotency_key", IdempotencyOption)
CONNECTION = (
    option("url", UrlOption),
    option("profile", ProfileOption),
    option("key_file", KeyFileOption),
    option("insecure", InsecureOption, False),
)


class ByDefault(TyperGroup):
    """A group with a default command, `list` or `show`, whose options may follow at once."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "--help" not in args[:1] and (not args or args[0].startswith("-")):
            args = ["list" if "list" in self.commands else "show", *args]
        return super().parse_args(ctx, args)


def noun(about: str) -> typer.Typer:
    """The group of commands about one kind of thing."""
    return typer.Typer(help=about, cls=ByDefault, add_completion=False)


def add(
    group: typer.Typer, name: str, about: str, kind: Kind, method: str, *parameters: Any
) -> None:
    group.command(name)(operation(about, kind, method, *parameters))


def operation(about: str, kind: Kind, method: str, *parameters: inspect.Parameter) -> Command:
    """A command that calls a method of the client with its arguments, by name."""

    def call(client: Client, **given: Any) -> Any:
        return getattr(client, method)(**given)

    call.__name__, call.__doc__ = method, about
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return kind(call)


def open_client(target: Target) -> Client:
    return Client(target.url, target.key, insecure=target.insecure)


def located(function: Command) -> Command:
    """The function gets the address and the key, and connects by itself."""
    return _command(function, function)


def client_command(
    function: Callable[..., object], run: Command, *options: inspect.Parameter
) -> Command:
    """A command for Typer that calls `run` with a client and all arguments. Its parameters are
    those of `function`, but for the client, and the options."""

    def call(target: Target, /, **given: Any) -> None:
        with open_client(target) as client:
            run(client, **given)

    return _command(function, call, *options)


def _command(
    function: Callable[..., object], call: Command, *options: inspect.Parameter
) -> Command:
    """A command for Typer that finds the server and the key, and passes them to `call`. Its
    parameters are the annotated ones of `function`, which users type, and the options."""

    def command(**given: Any) -> None:
        target = find_target(*(given.pop(option.name) for option in CONNECTION))
        if target.withheld is not None:
            typer.echo(f"laissez: without a key: {target.withheld}", err=True)
        call(target, **given)

    own = inspect.signature(function, eval_str=True).parameters.values()
    typed = (each for each in own if get_origin(each.annotation) is Annotated)
    parameters = [
        *(each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in typed),
        *options,
        *CONNECTION,
    ]
    command.__name__ = function.__name__
    command.__doc__ = function.__doc__
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command
