"""The command line: one module per group of verbs, found by its ``register`` function."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from pkgutil import iter_modules

import typer

from procure import __version__
from procure.cli._stdout import guard, verdict
from procure.errors import Fault, InputError
from procure.files import place_of

ORDER = ("prepare", "plan", "study", "decide", "ask", "report")
"""Groups in the order in which help lists them; a group that is not named here comes last."""

BAD_INPUT, BUG, INTERRUPTED = 2, 1, 130


def build_app() -> typer.Typer:
    """The program with the verbs of every group.

    A group is a module of this package with ``register(app: typer.Typer) -> None``, which adds its verbs under a
    ``rich_help_panel`` of its own. Groups import what is heavy inside their verbs: help must stay quick.
    """
    app = typer.Typer(
        name="procure",
        help="Decides what an AI datacenter should buy: racks, SSDs and context memory, quarter by quarter.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )

    @app.callback(invoke_without_command=True)
    def options(
        debug: bool = typer.Option(False, "--debug", help="Show the traceback of an error; works with every verb."),
        version: bool = typer.Option(False, "--version", help="Print the version and stop."),
    ) -> None:
        if version:
            typer.echo(f"procure {__version__}")
            raise typer.Exit()

    names = [module.name for module in iter_modules(__path__) if not module.name.startswith("_")]
    for name in sorted(names, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name)):
        register = getattr(import_module(f"{__name__}.{name}"), "register", None)
        if register is not None:
            register(app)
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit code: 2 for wrong input, 1 for a bug, else what the verb says."""
    guarded, before = guard()
    try:
        code = _run(list(sys.argv[1:] if arguments is None else arguments))
    except BaseException:
        verdict(guarded, before, BUG, BUG)
        raise
    code, sentence = verdict(guarded, before, code, BAD_INPUT)
    if sentence:
        _tell(sentence)
    return code


def _run(words: list[str]) -> int:
    debug = "--debug" in words
    words = [word for word in words if word != "--debug"]
    command = typer.main.get_command(build_app())
    try:
        code = command.main(args=words, prog_name="procure", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except InputError as error:
        if debug:
            raise
        _tell(str(error))
        return BAD_INPUT
    except (typer.Abort, KeyboardInterrupt):
        _tell("Stopped.")
        return INTERRUPTED
    except Exception as error:
        show = getattr(error, "show", None)
        if show is not None:  # click: wrong words on the command line
            show()
            return BAD_INPUT
        if debug:
            raise
        if (place := place_of(error)) is not None:
            where = str(place.filename or "A file")
            fault = Fault(where, 0, "", "", f"{place.strerror}.", "Name another place or free this one.")
            _tell(str(InputError([fault])))
            return BAD_INPUT
        _tell(f"This is a bug in procure: {type(error).__name__}: {error}. Run again with --debug.")
        return BUG


def _tell(sentence: str) -> None:
    """Say something on stderr, unless nobody can hear it."""
    try:
        typer.echo(sentence, err=True)
    except OSError:
        return
