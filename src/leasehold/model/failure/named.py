"""Exceptions of other libraries, known by the names of their classes: no library is imported for this.

A name is the package's root and the class: `http.client.IncompleteRead` is `http.IncompleteRead`. The nearest
known class decides. `CAUSES` are wrappers: the error they hold decides, if it is known.

A plain `ValueError` is not listed on purpose: it is raised for bad input and for temporary trouble, so it stays
unclassified and is retried; the errors of parsers (JSON, Unicode, schemas) are final.
"""

import re
from typing import Final

NAMES: Final[dict[str, str]] = {
    "NETWORK_TIMEOUT": (
        "builtins.TimeoutError httpx.TimeoutException psycopg.ConnectionTimeout psycopg_pool.PoolTimeout "
        "requests.Timeout urllib3.TimeoutError"
    ),
    "NETWORK_RESET": (
        "asyncio.IncompleteReadError builtins.ConnectionError http.HTTPException httpx.NetworkError "
        "httpx.RemoteProtocolError psycopg.OperationalError requests.ChunkedEncodingError requests.ConnectionError "
        "smtplib.SMTPServerDisconnected ssl.SSLError urllib.ContentTooShortError urllib.URLError "
        "urllib3.IncompleteRead urllib3.InvalidChunkLength urllib3.NewConnectionError urllib3.ProtocolError "
        "urllib3.SSLError"
    ),
    "NETWORK_DNS": "socket.gaierror socket.herror urllib3.NameResolutionError",
    "UPSTREAM_UNAVAILABLE": "httpx.ProxyError requests.ProxyError urllib3.ProxyError",
    "UPSTREAM_ERROR": (
        "httpx.DecodingError httpx.TooManyRedirects psycopg.InternalError requests.ContentDecodingError "
        "requests.TooManyRedirects urllib3.DecodeError urllib3.ResponseError"
    ),
    "CONFLICT": "builtins.FileExistsError",
    "SCHEMA_INVALID": (
        "_csv.Error binascii.Error builtins.UnicodeError http.InvalidURL httpx.InvalidURL httpx.UnsupportedProtocol "
        "json.JSONDecodeError jsonschema.ValidationError msgspec.DecodeError psycopg.DataError "
        "psycopg.IntegrityError pydantic_core.ValidationError requests.InvalidSchema requests.InvalidURL "
        "requests.MissingSchema tomllib.TOMLDecodeError urllib3.LocationValueError xml.ParseError zipfile.BadZipFile"
    ),
    "AUTH_DENIED": "builtins.PermissionError",
    "TLS_INVALID": "ssl.SSLCertVerificationError",
    "NOT_FOUND": "builtins.FileNotFoundError builtins.NotADirectoryError",
    "BUG": (
        "builtins.ArithmeticError builtins.AssertionError builtins.AttributeError builtins.ImportError "
        "builtins.IsADirectoryError builtins.LookupError builtins.NameError builtins.NotImplementedError "
        "builtins.RecursionError builtins.SyntaxError builtins.TypeError configparser.Error "
        "http.ImproperConnectionState httpx.LocalProtocolError httpx.StreamError psycopg.NotSupportedError "
        "psycopg.ProgrammingError smtplib.SMTPNotSupportedError"
    ),
    "WORKER_CRASHED": "concurrent.BrokenExecutor",
    "RESOURCES_EXHAUSTED": "builtins.BlockingIOError builtins.MemoryError psycopg_pool.TooManyRequests",
    "PROCESS_TIMEOUT": "subprocess.TimeoutExpired",
    "PROCESS_FAILED": "subprocess.CalledProcessError",
}

# Where a wrapper keeps what it wraps; `args` stands for the last error among its arguments.
CAUSES: Final[dict[str, tuple[str, ...]]] = {
    "httpx.ConnectError": ("__cause__", "args"),
    "requests.ConnectionError": ("args",),
    "urllib.URLError": ("reason",),
    "urllib3.MaxRetryError": ("reason",),
    "urllib3.ProtocolError": ("args",),
    "urllib3.ProxyError": ("original_error",),
    "urllib3.SSLError": ("args",),
}

# Packages whose errors have the same names.
SAME: Final = {"httpcore": "httpx", "httpcore2": "httpx", "httpx2": "httpx"}

LINEAGE_MAX: Final = 8
# `module:Class` or `module:Outer.Inner`; what is made inside a function cannot be found again and has no name.
IMPORTABLE: Final = re.compile(r"(?=.{1,200}\Z)[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*\Z")

CLASS_OF: Final = {name: error_class for error_class, names in NAMES.items() for name in names.split()}


def names_of(error: BaseException) -> list[str]:
    found = []
    for kind in type(error).__mro__:
        root = str(kind.__module__).partition(".")[0]
        found.append(f"{SAME.get(root, root)}.{kind.__name__}")
    return found


def class_of(names: list[str]) -> str | None:
    return next((CLASS_OF[name] for name in names if name in CLASS_OF), None)


def cause_of(error: BaseException, names: list[str]) -> BaseException | None:
    fields = next((CAUSES[name] for name in names if name in CAUSES), ())
    for field in fields:
        held = getattr(error, field, None)
        several = held if isinstance(held, tuple) else (held,)
        found = [one for one in several if isinstance(one, BaseException)]
        if found:
            return found[-1]
    return None


def lineage_of(error: BaseException) -> list[str]:
    """Return the importable names of an error's types, nearest first, without those that every exception has.

    They are stored with a failed effect, so that a replay raises the same.
    """
    found: list[str] = []
    for kind in type(error).__mro__:
        if kind is Exception or len(found) == LINEAGE_MAX:
            break
        name = f"{kind.__module__}:{kind.__qualname__}"
        if IMPORTABLE.match(name):
            found.append(name)
    return found
