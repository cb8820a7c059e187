"""Libraries of hooks: where they are looked for, what they say of themselves, what may be given."""

from __future__ import annotations

import ctypes
import difflib
import math
import os
import pathlib
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from lockstep import _hook_host

BOOL, INT, REAL, CHOICE, TEXT = 1, 2, 3, 4, 5  # LOCKSTEP_BOOL, ...


class HookError(RuntimeError):
    """A hook cannot be had, or has failed: one sentence, with the hook, and bucket and step."""


class Description(NamedTuple):
    """What a library says of one of its hooks: lockstep_hook_info."""

    id: str
    caps: int
    dtypes: int
    devices: int
    params: List[Dict[str, Any]]


class Library:
    """An open library; the same one for all who open its file."""

    _open: Dict[str, "Library"] = {}

    def __init__(self, path: str) -> None:
        try:
            self.native = _hook_host.Library(_entry(path), path)
            self.hooks = [Description(**told) for told in self.native.hooks()]
        except ValueError as error:
            raise HookError(f"{path}: {error}") from None
        self.path = path

    @classmethod
    def open(cls, path: str) -> "Library":
        if not os.path.isfile(path):
            raise HookError(f"{path}: there is no such file")
        absolute = os.path.abspath(path)
        if absolute not in cls._open:
            cls._open[absolute] = cls(absolute)
        return cls._open[absolute]

    def find(self, hook: str) -> Optional[Description]:
        return next((known for known in self.hooks if known.id == hook), None)


def _entry(path: str) -> int:
    """Where a library's entry is. The library stays mapped until the process ends."""
    try:
        library = ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_LOCAL)
    except OSError as error:
        raise ValueError(f"cannot be loaded: {error}") from None
    symbol = "lockstep_comm_hook_plugin_v{}"
    if hasattr(library, symbol.format(_hook_host.BORDER)):
        return ctypes.addressof(ctypes.c_char.in_dll(library, symbol.format(_hook_host.BORDER)))
    for other in range(10):
        if hasattr(library, symbol.format(other)):
            raise ValueError(f"was built for version {other} of the plugin border, this Lockstep has "
                             f"version {_hook_host.BORDER}: build it again with this Lockstep's headers")
    raise ValueError(f"exports no {symbol.format(_hook_host.BORDER)}: it is no plugin of Lockstep")


def folders() -> List[str]:
    """In the order of ``lockstep hooks``: the user's, then those that came with Lockstep."""
    listed = [path for path in os.environ.get("LOCKSTEP_HOOKS", "").split(":") if path]
    home = os.environ.get("HOME", "")
    data = os.environ.get("XDG_DATA_HOME") or (os.path.join(home, ".local/share") if home else "")
    if data:
        listed.append(os.path.join(data, "lockstep/hooks"))
    package = pathlib.Path(_hook_host.__file__).resolve().parent
    # Of a build folder's python/lockstep, and of an installation's share/lockstep/python/lockstep. A
    # wheel in a site-packages has neither.
    for shipped in ("../../bin/hooks", "../../../../lib/lockstep/hooks"):
        listed.append(os.path.normpath(package / shipped))
    return listed


def find(name: str) -> Tuple[Library, Description]:
    """A hook by its name, or by a path: "my_hook.so", or "my_hooks.so:second" where there are more.

    A hook is looked for in the library of its name first, so that nobody else's code is run.
    """
    path, _, id_ = name.partition(".so:")
    if id_:
        return _in_library(Library.open(path + ".so"), id_)
    if name.endswith(".so"):
        library = Library.open(name)
        if len(library.hooks) > 1:
            raise HookError(f'{name} has the hooks {", ".join(h.id for h in library.hooks)}; say '
                            f'which one, as in "{name}:{library.hooks[0].id}"')
        return library, library.hooks[0]
    return _by_name(name)


def _in_library(library: Library, id_: str) -> Tuple[Library, Description]:
    found = library.find(id_)
    if found is None:
        raise HookError(f'{library.path} has no hook "{id_}"; it has '
                        f'{", ".join(h.id for h in library.hooks)}')
    return library, found


def _by_name(name: str) -> Tuple[Library, Description]:
    others = [path for folder in folders() for path in sorted(pathlib.Path(folder).glob("*.so"))]
    for path in [p for p in others if p.stem == name]:
        library = Library.open(str(path))
        found = library.find(name)
        if found is not None:
            return library, found
    known = set()
    for path in others:
        try:
            library = Library.open(str(path))
        except HookError:
            continue  # not the one that was asked for
        found = library.find(name)
        if found is not None:
            return library, found
        known.update(hook.id for hook in library.hooks)
    raise HookError(_unknown(name, sorted(known)))


def _unknown(name: str, known: List[str]) -> str:
    if not known:
        return f'there is no hook "{name}": no plugin was found in {", ".join(folders())}'
    return f'there is no hook "{name}"; {_meant(name, known, "the hooks")}'


def _meant(name: str, known: List[str], all_of_them: str) -> str:
    nearest = difflib.get_close_matches(name, known, 1)
    return f"did you mean {nearest[0]}?" if nearest else f"{all_of_them} are {', '.join(known)}"


Value = Tuple[str, int, float, Optional[str]]  # lockstep_value: key, type, number, text


def values(hook: Description, given: Dict[str, Any]) -> List[Value]:
    """One for each parameter of the hook, for create(). Raises HookError for the first mistake."""
    params = {param["key"]: param for param in hook.params}
    for key in given:
        if key not in params:
            raise HookError(f"hook '{hook.id}': {_unknown_parameter(hook.id, key, list(params))}")
    return [value(hook, param, given[key]) if key in given else _initial(param)
            for key, param in params.items()]


def _unknown_parameter(hook: str, key: str, known: List[str]) -> str:
    if not known:
        return f'there is no parameter {key}: hook "{hook}" has none'
    return f"there is no parameter {key}; {_meant(key, known, 'its parameters')}"


def _initial(param: Dict[str, Any]) -> Value:
    textual = param["type"] in (CHOICE, TEXT)
    return (param["key"], param["type"], param["initial"],
            (param["initial_text"] or "") if textual else None)


def value(hook: Description, param: Dict[str, Any], given: Any) -> Value:
    """One value as the border has it. Raises HookError for one that cannot be."""
    if not _fits(param, given):
        text = f"hook '{hook.id}': {param['key']} must be {_allowed(param)}, not {_text(given)}"
        nearest = isinstance(given, str) and difflib.get_close_matches(given, param["choices"], 1)
        raise HookError(text + (f'; did you mean "{nearest[0]}"?' if nearest else ""))
    if isinstance(given, str):
        return param["key"], param["type"], 0.0, given
    return param["key"], param["type"], float(given), None


def _fits(param: Dict[str, Any], given: Any) -> bool:
    kind = param["type"]
    if kind == BOOL:
        return isinstance(given, bool)
    if kind == CHOICE:
        return given in param["choices"]
    if kind == TEXT:
        return isinstance(given, str)
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not math.isfinite(given):
        return False
    whole = kind != INT or isinstance(given, int)
    return whole and param["min"] <= given <= param["max"]


def _allowed(param: Dict[str, Any]) -> str:
    kind = param["type"]
    if kind == BOOL:
        return "True or False"
    if kind == CHOICE:
        choices = param["choices"]
        return f'"{choices[0]}"' if len(choices) == 1 else "one of " + ", ".join(choices)
    if kind == TEXT:
        return "a text"
    return (f"{'an integer' if kind == INT else 'a number'} from {_number(param['min'])} to "
            f"{_number(param['max'])}")


def _number(given: float) -> str:
    return str(int(given)) if given == int(given) and abs(given) < 1e16 else repr(given)


def _text(given: Any) -> str:
    text = f'"{given}"' if isinstance(given, str) else repr(given)
    return text if len(text) <= 60 else text[:57] + "..."
