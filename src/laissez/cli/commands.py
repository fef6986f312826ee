"""Commands that speak to a server, made of functions that take a client.

    @orders.command("list")
    @lists(ORDERS, empty="no open orders")
    def list_orders(client: Client, tenant: TenantOption = None) -> Iterable[Order]:
        \"\"\"List your open orders.\"\"\"
        return client.orders(tenant=tenant)

A decorator adds the options that the kind of command has (`--output`, `--watch`,
`--idempotency-key`) and those that say which server and which key, and prints what the function
returns.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar, get_origin

import typer
from typer.core import TyperGroup

from laissez.cli.output import Format, FormatOption, WatchOption
from laissez.cli.profiles import Target, find_target
from laissez.cli.tables import Column, show_again, show_json, show_one
from laissez.client import Client
from laissez.wire.views import Done

T = TypeVar("T")
Command: TypeAlias = Callable[..., None]

UrlOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--url",
        help="The server's URL. [LAISSEZ_URL, or the profile's]",
        rich_help_panel="Connection",
    ),
]
ProfileOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--profile",
        help="A profile of the configuration file. [LAISSEZ_PROFILE, or the file's default]",
        rich_help_panel="Connection",
    ),
]
KeyFileOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--key-file",
        help="The file that holds your key. [LAISSEZ_KEY_FILE or LAISSEZ_KEY, or the profile's]",
        rich_help_panel="Connection",
    ),
]
InsecureOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--insecure",
        help="Send the key over http to another machine; only in a network that you trust.",
        rich_help_panel="Connection",
    ),
]
IdempotencyOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--idempotency-key",
        metavar="KEY",
        help="The key of an earlier attempt with unknown outcome; it is carried out at most once.",
    ),
]


def option(name: str, annotation: Any, default: object) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


OUTPUT = option("output", FormatOption, Format.TABLE)
WATCH = option("watch", WatchOption, None)
IDEMPOTENCY_KEY = option("idempotency_key", IdempotencyOption, None)
CONNECTION = (
    option("url", UrlOption, None),
    option("profile", ProfileOption, None),
    option("key_file", KeyFileOption, None),
    option("insecure", InsecureOption, False),
)


class ListByDefault(TyperGroup):
    """Without a verb, `list` is meant; its options may follow at once."""

    verb = "list"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "--help" not in args[:1] and (not args or args[0].startswith("-")):
            args = [self.verb, *args]
        return super().parse_args(ctx, args)


class ShowByDefault(ListByDefault):
    """The same where there is one thing, not a list of them."""

    verb = "show"


def noun(about: str, default: type[TyperGroup] = ListByDefault) -> typer.Typer:
    """The group of commands about one kind of thing."""
    return typer.Typer(help=about, cls=default, add_completion=False)


def open_client(target: Target) -> Client:
    return Client(target.url, target.key, insecure=target.insecure)


def located(function: Command) -> Command:
    """The function gets the server's address and the key, and connects by itself."""
    return _command(function, function)


def connected(function: Command) -> Command:
    """The function gets a client, and prints by itself."""
    return client_command(function, function)


def lists(
    columns: Sequence[Column[T]], empty: str = ""
) -> Callable[[Callable[..., Iterable[T]]], Command]:
    """The function returns rows. For an empty table, standard error says so in the words
    `empty`."""

    def decorate(function: Callable[..., Iterable[T]]) -> Command:
        def run(client: Client, output: Format, watch: float | None, **given: Any) -> None:
            show_again(lambda: function(client, **given), columns, output, watch, empty)

        return client_command(function, run, OUTPUT, WATCH)

    return decorate


def shows(columns: Sequence[Column[T]]) -> Callable[[Callable[..., T]], Command]:
    """The function returns one thing."""

    def decorate(function: Callable[..., T]) -> Command:
        def run(client: Client, output: Format, **given: Any) -> None:
            show_one(function(client, **given), columns, output)

        return client_command(function, run, OUTPUT)

    return decorate


def changes(said: str | Callable[[Any], str]) -> Callable[[Callable[..., Any]], Command]:
    """The function takes an `idempotency_key`, changes something, and returns the server's answer,
    which is put into words: a template with the command's arguments and `done`, the answer."""

    def decorate(function: Callable[..., Any]) -> Command:
        def run(client: Client, output: Format, **given: Any) -> None:
            print_done(function(client, **given), said, output, given)

        return client_command(function, run, IDEMPOTENCY_KEY, OUTPUT)

    return decorate


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


def print_done(done: Any, said: str | Callable[[Any], str], output: Format, given: Any) -> None:
    if output is Format.JSON:
        show_json(done)
        return
    text = said.format(done=done, **given) if isinstance(said, str) else said(done)
    events = done.events if isinstance(done, Done) else ()
    ended = sum(told.event.__struct_config__.tag == "lease.ended" for told in events)
    typer.echo(f"{text}; {ended} leases ended" if ended else text)
