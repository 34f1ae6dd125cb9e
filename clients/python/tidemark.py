"""Connects a training program to the Tidemark worker on the same machine.

One file, Python 3.8 or newer, standard library only: copy it beside your program.

    path = tidemark.resume_path()            # a folder, or the file itself; None: start from the beginning
    tidemark.step(step)                      # cheap, never raises: reports how far training has come
    tidemark.save("out/checkpoint-500")      # hands over a checkpoint that is finished on disk
    tidemark.flush()                         # returns when every checkpoint known by now is safe

    tidemark.submit(["python", "train.py"], name="llama", watch=["out"])    # queues a job at a hub, from any machine

    transformers.Trainer(..., callbacks=[tidemark.TidemarkCallback()])
    lightning.Trainer(..., callbacks=[tidemark.TidemarkLightningCallback()])

The worker is found by TIDEMARK_SOCKET (its unix socket), else by TIDEMARK_LOCAL_URL with the token in the file that
TIDEMARK_LOCAL_TOKEN_FILE names, else by `local.sock` in TIDEMARK_STATE, or in /var/lib/tidemark or ~/.tidemark.

`step` writes the step into a file that the worker made. TIDEMARK_STEP_RECORD names the file, or the worker is asked for it.
A write takes microseconds, and the step survives when the program or the worker is killed. Without a file, `step` sends each
step over the socket.

`step`, `available` and the callbacks never raise; the others raise TidemarkError, which says what happened and what to do.
"""

from __future__ import annotations

import http.client
import importlib
import json
import logging
import os
import re
import socket
import struct
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
import zlib
from hashlib import sha256
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple, TypedDict, Union, cast
from urllib.parse import urlsplit

__all__ = ["Client", "TidemarkError", "available", "flush", "restore", "resume_path", "resume_step", "save", "state"]
__all__ += ["status", "step", "submit"]

log = logging.getLogger("tidemark")

CONNECT_SECONDS = 5.0
# Timeout of requests that the worker answers from memory.
ANSWER_SECONDS = 30.0
# How long the callbacks wait for the worker to take a checkpoint, so that a hung worker does not stop training.
HAND_OVER_SECONDS = 30.0
# `step` runs in the training loop: connect and answer take a second at most, and an absent worker is left alone for 5 s.
STEP_SECONDS = 0.5
AWAY_SECONDS = 5.0
# With a step record, `step` also notifies the worker, for displays: at most this often, and without reading the answer.
WORD_EVERY_SECONDS = 1.0
WORD_SECONDS = 0.05
# Timeout of a submission, and how often it is sent while no answer comes. The key of a submission makes repeating harmless.
SUBMIT_SECONDS = 60.0
SUBMIT_TRIES = 3
SUBMIT_WAIT_SECONDS = 1.0
# Range of flush timeouts that the worker accepts.
LEAST_FLUSH_SECONDS, MOST_FLUSH_SECONDS = 0.001, 86_400.0
# The worker ends a flush by its own clock; the client waits this much longer for the answer.
GRACE_SECONDS = 10.0
# Default state folders, in the order in which the worker tries them.
DEFAULT_STATES = ("/var/lib/tidemark", os.path.join("~", ".tidemark"))
# Linux: `sun_path` without its terminating zero.
MOST_SOCKET_PATH_BYTES = 107

PathLike = Union[str, "os.PathLike[str]"]


# Number of checkpoints that are not safe yet, and the last error, if any.
State = TypedDict("State", {"pending": int, "error": Optional[str]})
# A checkpoint that the worker took. `id` is None when it was taken earlier and has ended since. `state`: waiting, running,
# done, superseded, failed or cancelled.
Saved = TypedDict("Saved", {"id": Optional[str], "run": str, "step": int, "state": str, "sizeBytes": int, "files": int})
# Where a checkpoint lies below its watched folder. `kind`: folder, file or files.
Place = TypedDict("Place", {"path": str, "kind": str})
# The restored checkpoint. `place` is its own place and `kind` how it lies at `path`: a worker of an earlier version leaves
# them out. `passedOver`: step of the newest checkpoint when it was skipped because it is damaged
# or archived.
Restored = TypedDict(
    "Restored",
    {
        "run": str,
        "step": int,
        "path": str,
        "place": Optional[Place],
        "kind": str,
        "checkpointId": str,
        "passedOver": Optional[int],
    },
)


# A submitted job. `isNew`: False when an earlier submission with the same key made it.
Submitted = TypedDict(
    "Submitted", {"id": str, "number": int, "run": str, "queue": str, "state": str, "isNew": bool}
)


class TidemarkError(Exception):
    """Says why the worker refused a request, or why it could not be asked.

    `code` is the worker's own, or one of NO_WORKER (none was found), WORKER_LOST (it left before it answered),
    TIMED_OUT, UNEXPECTED_ANSWER, NOT_SAFE (a checkpoint was taken, but did not become safe), BAD_INPUT, and of `submit`
    HUB_UNREACHABLE, HUB_PLAIN_HTTP and the hub's own.
    """

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(code, sentence)
        self.code = code
        self.sentence = sentence

    def __str__(self) -> str:
        return self.sentence


class _Address(NamedTuple):
    """Names an address at which a worker may listen: a unix socket, or a port of this machine with a token."""

    name: str
    path: Optional[str] = None
    host: str = ""
    port: int = 0
    token: Optional[str] = None


class _UnixConnection(http.client.HTTPConnection):
    """Sends HTTP over a unix socket."""

    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        family = getattr(socket, "AF_UNIX", None)
        if family is None:
            raise OSError("this Python has no unix sockets; set TIDEMARK_LOCAL_URL instead")
        self.sock = socket.socket(family, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class _StepRecord:
    """Writes the file from which the worker reads the last step: docs/local-api.md, "The step record"."""

    VERSION, PART_BYTES, SLOTS, MOST_STEP = 1, 64, (1, 2), 999_999_999_999
    # Each part ends with its CRC-32. Header: magic, version, id, SHA-256 of the run's name, reserved.
    HEADER = struct.Struct("<6sH16s32sI")
    # Slot: magic, version, reserved, turn, step, epoch ms, id, first 8 bytes of that SHA-256, reserved.
    SLOT = struct.Struct("<4sHHQQQ16s8sI")

    def __init__(self, path: str, *, is_asked: bool) -> None:
        """Opens and locks it. Raises OSError (not permitted, locked) or ValueError (no record of this version)."""
        # Windows has no fcntl; the ImportError makes `step` use HTTP instead.
        fcntl = importlib.import_module("fcntl")
        self.path, self.is_asked = path, is_asked
        self.pid, self.word_at = os.getpid(), -WORD_EVERY_SECONDS
        self._one_at_a_time = threading.Lock()
        self._fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            # Only one rank may write. A POSIX record lock ends with its process, and children do not inherit it.
            fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            parts = [os.pread(self._fd, self.PART_BYTES, at * self.PART_BYTES) for at in (0, *self.SLOTS)]
            magic, version, self._id, self._digest, _ = self._read(self.HEADER, parts[0]) or (b"", 0, b"", b"", 0)
            if (magic, version) != (b"TMSTEP", self.VERSION):
                raise ValueError(f"{path} is no step record of version {self.VERSION}")
            slots = [self._read(self.SLOT, part) for part in parts[1:]]
            self._turn = max(slot[3] if slot and slot[6] == self._id else 0 for slot in slots)
        except Exception:
            self.close()
            raise

    def _read(self, form: struct.Struct, part: bytes) -> Optional[Tuple[Any, ...]]:
        is_whole = len(part) == self.PART_BYTES and part[-4:] == struct.pack("<I", zlib.crc32(part[:-4]))
        return form.unpack(part[:-4]) if is_whole else None

    def write(self, step: int) -> None:
        """Writes the step with one pwrite and no fsync: the page cache outlives every process on this machine."""
        if not 0 <= step <= self.MOST_STEP:
            raise ValueError(f"a step is a whole number up to {self.MOST_STEP}")
        with self._one_at_a_time:
            turn, at = self._turn + 1, time.time_ns() // 1_000_000
            slot = self.SLOT.pack(b"TMST", self.VERSION, 0, turn, step, at, self._id, self._digest[:8], 0)
            slot += struct.pack("<I", zlib.crc32(slot))
            # Writes to the two slots in turn: the previous step stays whole until this write is complete.
            if os.pwrite(self._fd, slot, self.SLOTS[turn % 2] * self.PART_BYTES) != self.PART_BYTES:
                raise OSError("the step was written in part")
            self._turn = turn

    def is_of(self, run: Optional[str]) -> bool:
        return run is None or self._digest == sha256(run.encode()).digest()

    def is_there(self) -> bool:
        """Returns whether the worker still reads this file: after a restart it has a new one."""
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(self._fd))
        except OSError:
            return False

    def close(self) -> None:
        os.close(self._fd)


# One record per file and process: POSIX drops the lock of a process when any descriptor of the file is closed.
_records: Dict[str, _StepRecord] = {}
# By path, the process that has sent `begin`. It holds the lock of the record, so the previous program has ended.
_begun: Dict[str, int] = {}
# Threads that send their first step together must share one record: two records would count turns separately.
_opening = threading.Lock()


def _renew_opening() -> None:
    """Replaces the lock in a forked child: a thread of the parent may hold it, and the child has no such thread."""
    global _opening
    _opening = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_opening)


def _open_record(path: str, run: Optional[str], *, is_asked: bool) -> _StepRecord:
    with _opening:
        record = _records.get(path)
        if record is None or record.pid != os.getpid() or (is_asked and not record.is_there()):
            record = _records[path] = _StepRecord(path, is_asked=is_asked)
    if not record.is_of(run):
        raise ValueError(f"{path} is of another run than {run}")
    return record


class Client:
    """Talks to one worker. Without arguments each call looks for it anew: it may start later or elsewhere."""

    def __init__(
        self, *, socket_path: Optional[PathLike] = None, url: str = "", token_file: Optional[PathLike] = None
    ) -> None:
        self._socket_path, self._url, self._token_file = socket_path, url, token_file
        self._away_until = 0.0
        # Step records by the run that the caller named. None: steps of this run go over HTTP.
        self._records: Dict[Optional[str], Optional[_StepRecord]] = {}
        self._word: Optional[http.client.HTTPConnection] = None

    def __getstate__(self) -> Dict[str, Any]:
        # A client that was pickled into another process opens its own files and connections.
        return dict(self.__dict__, _records={}, _word=None)

    def save(
        self, path: PathLike, *, run: Optional[str] = None, step: Optional[int] = None, wait: bool = False,
        timeout: Optional[float] = None,
    ) -> Saved:  # fmt: skip
        """Hands over the checkpoint at `path`, which is finished on disk. With `wait` it is safe when this returns.

        `run` may be left out when the worker watches exactly one, `step` when the name of the folder or file contains it.
        Raises TIMED_OUT when there is no answer within `timeout` seconds; the worker may still take the checkpoint.
        """
        body = {"path": os.path.abspath(os.fsdecode(path)), "run": run, "step": _whole(step), "wait": wait or None}
        saved = cast(Saved, self._ask("POST", "/v1/save", body, answer_seconds=timeout))
        if wait and saved.get("state") in ("failed", "cancelled"):
            why = f"{path}: it was taken, but did not become safe ({saved['state']}). The worker's log says why."
            raise TidemarkError("NOT_SAFE", why)
        return saved

    def state(self) -> State:
        """Returns how many checkpoints are not safe yet, and the last error."""
        return cast(State, self._ask("GET", "/v1/state", answer_seconds=ANSWER_SECONDS))

    def status(self) -> Dict[str, Any]:
        """Returns everything that the worker reports about itself."""
        return self._ask("GET", "/v1/status", answer_seconds=ANSWER_SECONDS)

    def flush(self, timeout: Optional[float] = None, run: Optional[str] = None) -> None:
        """Returns when all checkpoints known by now are safe; raises TidemarkError when `timeout` seconds do not suffice.

        A `timeout` of 0 or less reports the present state at once; more than a day counts as one day.
        """
        seconds = None if timeout is None else min(MOST_FLUSH_SECONDS, max(LEAST_FLUSH_SECONDS, timeout))
        body = {"timeoutMs": None if seconds is None else round(seconds * 1000), "run": run}
        patience = None if seconds is None else seconds + GRACE_SECONDS
        answer = self._ask("POST", "/v1/flush", body, answer_seconds=patience)
        if answer.get("pending") or answer.get("error"):
            error = answer.get("error") or "no reason was given"
            why = f"{answer.get('pending', 0)} checkpoints are not safe: {error}."
            raise TidemarkError("NOT_SAFE", why)

    def restore(self, path: PathLike, *, run: Optional[str] = None, step: Optional[int] = None) -> Restored:
        """Restores a checkpoint to `path`: the newest complete one unless `step` names another.

        A checkpoint of one file becomes that file when `path` ends with its name (`back/last.ckpt`). In all other cases
        `path` becomes a folder that contains the files.
        """
        body = {"path": os.path.abspath(os.fsdecode(path)), "run": run, "step": _whole(step)}
        return cast(Restored, self._ask("POST", "/v1/restore", body))

    def step(self, step: int, run: Optional[str] = None) -> None:
        """Reports how far training has come. Never raises; an absent worker is asked again some seconds later."""
        try:
            record = self._record(run)
            if record is not None and record.is_asked:
                self._begin(record, int(step), run)
            is_written = record is not None and self._write(record, int(step), run)
            if not is_written and time.monotonic() >= self._away_until:
                self._ask("POST", "/v1/step", {"step": _whole(step), "run": run}, STEP_SECONDS, STEP_SECONDS)
        except Exception as error:
            self._away_until = time.monotonic() + AWAY_SECONDS
            log.debug("the step was not told: %s", error)

    def _begin(self, record: _StepRecord, step: int, run: Optional[str]) -> None:
        """Reports this process's first step before it overwrites the last one of the previous program."""
        if _begun.get(record.path) == record.pid:
            return
        _begun[record.path] = record.pid
        try:
            self._ask("POST", "/v1/begin", {"step": _whole(step), "run": run}, STEP_SECONDS, STEP_SECONDS)
        except TidemarkError as error:
            log.debug("the beginning was not told: %s", error)

    def _write(self, record: _StepRecord, step: int, run: Optional[str]) -> bool:
        """Writes the step and at most once a second notifies the worker. Returns whether the step was written."""
        try:
            record.write(step)
        except OSError as error:
            log.debug("steps are said from here on: %s", error)
            self._records[run] = None
            return False
        now = time.monotonic()
        if now < max(self._away_until, record.word_at + WORD_EVERY_SECONDS):
            return True
        record.word_at = now
        if record.is_there():
            earlier = self._word
            self._word, _ = self._send("POST", "/v1/step", {"step": step, "run": run}, WORD_SECONDS)
            if earlier is not None:
                earlier.close()
        elif record.is_asked:
            # The worker has made another file; the next step asks for its path.
            del self._records[run]
        # A record from the environment was replaced: a later `tidemark run` started another program, and nobody reads this.
        return True

    def _record(self, run: Optional[str]) -> Optional[_StepRecord]:
        """Returns the record for the steps of a run; None when there is none, or none yet."""
        if run in self._records:
            known = self._records[run]
            if known is None or known.pid == os.getpid():
                return known
        is_told = bool(self._socket_path or self._url)
        named = None if is_told else os.environ.get("TIDEMARK_STEP_RECORD")
        record = None
        if named:
            record = _try_record(named, run, is_asked=False)
        if record is None:
            if time.monotonic() < self._away_until:
                return None
            path = self._ask_record(run)
            record = None if path is None or path == named else _try_record(path, run, is_asked=True)
        self._records[run] = record
        return record

    def _ask_record(self, run: Optional[str]) -> Optional[str]:
        """Asks the worker for its record's path; None: it has none for this run, or is of an earlier version."""
        try:
            answer = self._ask("POST", "/v1/record", {"run": run}, STEP_SECONDS, STEP_SECONDS)
        except TidemarkError as error:
            if error.code in ("NO_WORKER", "WORKER_LOST", "TIMED_OUT"):
                raise
            return None
        path = answer.get("path")
        return path if isinstance(path, str) and answer.get("version") == _StepRecord.VERSION else None

    def available(self) -> bool:
        """Returns whether a worker answers. Never raises."""
        try:
            self._ask("GET", "/v1/state", None, 1.0, 1.0)
        except Exception:
            return False
        return True

    def _ask(
        self,
        method: str,
        path: str,
        body: Optional[Dict[str, Any]] = None,
        connect_seconds: float = CONNECT_SECONDS,
        answer_seconds: Optional[float] = None,
    ) -> Dict[str, Any]:
        """Sends one request and returns its answer. With `answer_seconds` None it waits without limit."""
        connection, address = self._send(method, path, body, connect_seconds)
        try:
            connection.sock.settimeout(answer_seconds)
            response = connection.getresponse()
            return _read_answer(response.status, response.read(), address)
        except socket.timeout as error:
            limit = "in time" if answer_seconds is None else f"within {answer_seconds:g} s"
            why = f"The Tidemark worker at {address.name} did not answer {limit}. Look at its log, then ask again."
            raise TidemarkError("TIMED_OUT", why) from error
        except (OSError, http.client.HTTPException) as error:
            raise _lost(address, error) from error
        finally:
            connection.close()

    def _send(
        self, method: str, path: str, body: Optional[Dict[str, Any]], seconds: float
    ) -> Tuple[http.client.HTTPConnection, _Address]:
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        given = {key: value for key, value in (body or {}).items() if value is not None}
        content = None if body is None else json.dumps(given).encode()
        connection, address = self._connect(seconds)
        if address.token is not None:
            headers["Authorization"] = f"Bearer {address.token}"
        try:
            connection.request(method, path, content, headers)
            return connection, address
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise _lost(address, error) from error

    def _connect(self, seconds: float) -> Tuple[http.client.HTTPConnection, _Address]:
        """Connects to the first address that answers; a worker that was killed leaves its socket behind."""
        tried: List[str] = []
        for address in self._addresses():
            connection = http.client.HTTPConnection(address.host, address.port, timeout=seconds)
            if address.path is not None:
                connection = _UnixConnection(address.path, seconds)
            try:
                connection.connect()
                return connection, address
            except (OSError, ValueError) as error:
                connection.close()
                tried.append(f"{address.name}: {_reason(error)}")
        raise TidemarkError(
            "NO_WORKER",
            f"No Tidemark worker answers on this machine ({'; '.join(tried)}). Start the program with "
            "`tidemark run --watch DIR -- …` or a `tidemark agent` beside it, or set TIDEMARK_SOCKET to its socket.",
        )

    def _addresses(self) -> List[_Address]:
        env = os.environ.get
        named = self._socket_path or (None if self._url else env("TIDEMARK_SOCKET"))
        if named:
            return [_Address(os.fspath(named), path=os.fspath(named))]
        if self._url:
            return [_at_url(self._url, self._token_file)]
        url = env("TIDEMARK_LOCAL_URL")
        if url:
            return [_at_url(url, env("TIDEMARK_LOCAL_TOKEN_FILE"))]
        wished = env("TIDEMARK_STATE")
        folders = [wished] if wished else [os.path.expanduser(folder) for folder in DEFAULT_STATES]
        return [_Address(path, path=path) for path in (_socket_in(folder) for folder in folders)]


def _socket_in(state: str) -> str:
    """Returns the path of the socket of a state folder: a link names it where the folder's path is too long for one."""
    path = os.path.join(state, "local.sock")
    if len(os.fsencode(path)) <= MOST_SOCKET_PATH_BYTES:
        return path
    try:
        return os.readlink(path)
    except OSError:
        return path


def _at_url(url: str, token_file: Optional[PathLike]) -> _Address:
    """Reads the token. Refuses addresses that could lead elsewhere: the token never leaves this machine."""
    try:
        parts = urlsplit(url)
        scheme, host, port = parts.scheme, parts.hostname or "", parts.port
    except ValueError:
        scheme, host, port = "", "", None
    is_local = host in ("localhost", "::1") or re.fullmatch(r"127(\.\d{1,3}){3}", host) is not None
    if scheme != "http" or not is_local or port is None:
        why = f"The worker's address is {url!r}; it has to be like http://127.0.0.1:7141, on this machine."
        raise TidemarkError("BAD_INPUT", why)
    if not token_file:
        why = f"{url} needs a token: set TIDEMARK_LOCAL_TOKEN_FILE to the file in which the worker keeps it."
        raise TidemarkError("BAD_INPUT", why)
    try:
        with open(token_file, encoding="utf-8") as file:
            return _Address(url, host=host, port=port, token=file.read().strip())
    except (OSError, ValueError) as error:
        why = f"{token_file}: the worker's token could not be read ({_reason(error)})."
        raise TidemarkError("BAD_INPUT", f"{why} Run the program as the user the worker runs as.") from error


def _try_record(path: str, run: Optional[str], *, is_asked: bool) -> Optional[_StepRecord]:
    try:
        return _open_record(path, run, is_asked=is_asked)
    except (OSError, ValueError, ImportError, AttributeError) as error:
        log.debug("steps are said, not written: %s", error)
        return None


def _lost(address: _Address, error: BaseException) -> TidemarkError:
    why = f"The Tidemark worker at {address.name} went away before it answered ({_reason(error)})."
    return TidemarkError("WORKER_LOST", f"{why} Look at its log; when it runs again, ask again.")


def _whole(step: Optional[int]) -> Optional[int]:
    # Accepts integer types of other libraries, such as NumPy, which JSON cannot encode.
    return None if step is None else int(step)


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _read_answer(status: int, content: bytes, address: _Address) -> Dict[str, Any]:
    if status == 204:
        return {}
    try:
        answer: Any = json.loads(content)
    except ValueError:
        answer = None
    fields = _fields(answer)
    if status < 300 and fields is not None:
        return fields
    fault = _fields((fields or {}).get("fault")) or {}
    code, sentence = fault.get("code"), fault.get("sentence")
    if isinstance(code, str) and isinstance(sentence, str):
        raise TidemarkError(code, sentence)
    why = f"What answers at {address.name} is no Tidemark worker that this file understands (HTTP {status})."
    raise TidemarkError("UNEXPECTED_ANSWER", f"{why} Use the tidemark.py of the worker's release.")


_client = Client()
save, restore, flush, step = _client.save, _client.restore, _client.flush, _client.step
state, status, available = _client.state, _client.status, _client.available


def _fields(value: Any) -> Optional[Dict[str, Any]]:
    """Returns a JSON object as a dict; None for any other value."""
    return cast(Dict[str, Any], value) if isinstance(value, dict) else None


def resume_path() -> Optional[str]:
    """Returns the path of the checkpoint to continue from, as `tidemark run` set it; None: start from the beginning.

    The path has the name that the program itself used: the folder `checkpoint-500`, or a single file such as `last.ckpt`.
    When one step has several files (`model_10.pt`, `optim_10.pt`), it is the first one; the others lie beside it.
    """
    return os.environ.get("TIDEMARK_RESUME_PATH") or None


def resume_step() -> Optional[int]:
    """Returns the step of `resume_path()`; None: start from the beginning."""
    text = os.environ.get("TIDEMARK_RESUME_STEP") or None
    if text is not None and re.fullmatch(r"[0-9]{1,12}", text) is None:
        raise TidemarkError("BAD_INPUT", f"TIDEMARK_RESUME_STEP is {text!r}; it has to be a step such as 500.")
    return None if text is None else int(text)


def submit(
    command: Sequence[Union[str, int, float]],
    *,
    hub: Optional[str] = None,
    token: Optional[str] = None,
    idempotency_key: Optional[str] = None,
    working_folder: Optional[str] = None,
    **fields: Any,
) -> List[Submitted]:
    """Queues a job at a hub and returns it; with `matrix` one job for each combination.

    `fields` are those of a job in docs/jobs.md: name, queue, run, environment, secrets (a dict of values), watch, inputs,
    outputs, after (ids of jobs), priority, labels, needs, policy, matrix. `hub` and `token` (an API token, tmk_...) are those of
    TIDEMARK_HUB and TIDEMARK_API_TOKEN when left out. A second submission with the same `idempotency_key` is the same job.
    Raises TidemarkError.
    """
    if isinstance(command, str) or not command:
        raise TidemarkError("BAD_INPUT", 'The command is a list of words, for example ["python", "train.py"].')
    base, secret = _hub_of(hub), token or os.environ.get("TIDEMARK_API_TOKEN") or ""
    if not secret.startswith("tmk_"):
        raise TidemarkError("BAD_INPUT", "An API token (tmk_...) is needed: token=..., or TIDEMARK_API_TOKEN.")
    job = {name: value for name, value in fields.items() if value is not None}
    job.update(command=str(command[0]), arguments=[str(word) for word in command[1:]])
    job["idempotencyKey"] = idempotency_key or f"python-{uuid.uuid4()}"
    if working_folder is not None:
        job["workingFolder"] = working_folder
    try:
        body = json.dumps({"jobs": [job]}).encode()
    except (TypeError, ValueError) as error:
        raise TidemarkError("BAD_INPUT", f"The job cannot be written as JSON: {error}.") from None
    headers = {"authorization": f"Bearer {secret}", "content-type": "application/json"}
    request = urllib.request.Request(f"{base}/api/trpc/jobs.submit", data=body, headers=headers, method="POST")
    return cast(List[Submitted], _ask_hub(request, base).get("jobs", []))


def _hub_of(hub: Optional[str]) -> str:
    base = (hub or os.environ.get("TIDEMARK_HUB") or "").rstrip("/")
    parts = urlsplit(base)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise TidemarkError("BAD_INPUT", "The address of a hub is needed: hub=https://..., or TIDEMARK_HUB.")
    if parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
        raise TidemarkError("HUB_PLAIN_HTTP", f"{base} is not encrypted, and would show the token. Use https://.")
    return base


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: it would hand the token to another server."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


def _ask_hub(request: urllib.request.Request, base: str) -> Mapping[str, Any]:
    opener = urllib.request.build_opener(_NoRedirect)
    for tries in range(1, SUBMIT_TRIES + 1):
        try:
            with opener.open(request, timeout=SUBMIT_SECONDS) as answer:
                return _read_hub(answer.status, answer.read(), base)
        except urllib.error.HTTPError as error:
            with error:
                return _read_hub(error.code, error.read(), base)
        except (OSError, http.client.HTTPException) as error:
            if tries == SUBMIT_TRIES:
                why = _reason(getattr(error, "reason", None) or error)
                sentence = f"The hub at {base} does not answer ({why}). Check the address, and submit again."
                raise TidemarkError("HUB_UNREACHABLE", sentence) from None
            time.sleep(SUBMIT_WAIT_SECONDS * tries)
    raise AssertionError("unreachable")


def _read_hub(status: int, content: bytes, base: str) -> Mapping[str, Any]:
    try:
        answer: Any = json.loads(content)
    except ValueError:
        answer = None
    fields = _fields(answer) or {}
    data = _fields((_fields(fields.get("result")) or {}).get("data"))
    if status < 300 and data is not None:
        return data
    error = _fields(fields.get("error")) or {}
    fault = _fields((_fields(error.get("data")) or {}).get("fault")) or {}
    code, sentence = fault.get("code"), error.get("message")
    if isinstance(code, str) and isinstance(sentence, str):
        raise TidemarkError(code, sentence)
    raise TidemarkError("UNEXPECTED_ANSWER", f"What answers at {base} is no Tidemark hub (HTTP {status}). Check the address.")


class _Hooks:
    """Holds the code that both callbacks share. Training goes on when the worker fails; with `strict` a failure is raised.

    The worker has `save_timeout` seconds to take a checkpoint (None: no limit).
    """

    def __init__(
        self, run: Optional[str] = None, *, flush_at_end: bool = False, flush_timeout: Optional[float] = None,
        strict: bool = False, client: Optional[Client] = None, save_timeout: Optional[float] = HAND_OVER_SECONDS,
    ) -> None:  # fmt: skip
        super().__init__()
        self._run, self._strict, self._client = run, strict, client or _client
        self._flush_at_end, self._flush_timeout = flush_at_end, flush_timeout
        self._save_timeout = save_timeout
        self._has_warned = False

    def _save(self, path: str, step: int) -> None:
        def save() -> Saved:
            return self._client.save(path, run=self._run, step=step, timeout=self._save_timeout)

        self._guard("a checkpoint was not handed over", save)

    def _end(self) -> None:
        if self._flush_at_end:
            self._guard("not everything is safe", lambda: self._client.flush(self._flush_timeout, run=self._run))

    def _guard(self, what: str, act: Callable[[], object]) -> None:
        try:
            act()
            self._has_warned = False
        except Exception as error:
            if self._strict:
                raise
            # Warns once, and again only after a success in between.
            if not self._has_warned:
                log.warning("Tidemark: %s: %s Training goes on.", what, error)
            self._has_warned = True


class _TrainerHooks(_Hooks):
    """Reports every step of the Trainer of Hugging Face transformers, and hands over each checkpoint that it saves.

    With several ranks a checkpoint is handed over at the next step: by then every rank has written its part.
    """

    _held: Optional[Tuple[str, int]] = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._strict and state.is_world_process_zero:
            self._client.state()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.is_world_process_zero:
            self._hand_over()
            self._client.step(state.global_step, self._run)

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.is_world_process_zero:
            self._hand_over()
            self._held = (os.path.join(args.output_dir, f"checkpoint-{state.global_step}"), state.global_step)
            if args.world_size == 1:
                self._hand_over()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.is_world_process_zero:
            self._hand_over()
            self._end()

    def _hand_over(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            self._save(*held)


# Path, modification time in ns and size of a checkpoint: they differ once the file is rewritten.
_Mark = Tuple[str, int, int]


class _LightningHooks(_Hooks):
    """Reports every step of the Trainer of PyTorch Lightning, and hands over what its ModelCheckpoint callbacks save.

    ModelCheckpoint runs after all other callbacks, so its files are looked for at the next hook. They are whole by then:
    a file gets its final name only when it is complete. When a step has several files, the most complete is handed over.
    """

    _seen: Set[_Mark] = set()
    _told: Optional[int] = None

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        if trainer.is_global_zero:
            # Files that exist at the start were handed over by an earlier process.
            self._seen = set(self._written(trainer))
            if self._strict:
                self._client.state()

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        if trainer.is_global_zero:
            self._look(trainer)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if trainer.is_global_zero:
            self._client.step(trainer.global_step, self._run)

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        if trainer.is_global_zero:
            self._look(trainer)
            self._end()

    def _look(self, trainer: Any) -> None:
        for mark in self._written(trainer):
            if mark in self._seen:
                continue
            self._seen = self._seen | {mark}
            named = re.search(r"step=(\d{1,12})", os.path.basename(mark[0]))
            step = int(named.group(1)) if named else int(trainer.global_step)
            if step != self._told:
                self._told = step
                self._save(mark[0], step)

    @staticmethod
    def _written(trainer: Any) -> List[_Mark]:
        """Lists files on disk that ModelCheckpoint names: full states before weights alone, `last` after the rest."""
        found: Dict[_Mark, Tuple[bool, bool]] = {}
        for callback in trainer.checkpoint_callbacks:
            weights_only = bool(getattr(callback, "save_weights_only", False))
            last = getattr(callback, "last_model_path", "")
            # The newest path is the last one. Checks only that one: there may be thousands, and this runs at every batch.
            newest = list(getattr(callback, "best_k_models", ()))[-1:]
            for path in (getattr(callback, "best_model_path", ""), *newest, last):
                try:
                    stats = os.stat(path)
                except (OSError, TypeError, ValueError):
                    continue
                # `last` may be a symbolic link to one of the others.
                mark = (os.path.realpath(path), stats.st_mtime_ns, stats.st_size)
                found[mark] = min(found.get(mark, (True, True)), (weights_only, path == last))
        return sorted(found, key=lambda mark: (found[mark], mark[1]))


_CALLBACKS: Dict[str, Tuple[type, str, Tuple[str, ...]]] = {
    "TidemarkCallback": (_TrainerHooks, "TrainerCallback", ("transformers",)),
    "TidemarkLightningCallback": (_LightningHooks, "Callback", ("lightning.pytorch", "pytorch_lightning")),
}


def __getattr__(name: str) -> Any:
    """Creates a callback class on first access: its base comes from a library that may not be installed."""
    if name not in _CALLBACKS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    hooks, base, modules = _CALLBACKS[name]
    # The class keeps its name in this module, so that Lightning can pickle it into the processes that it starts.
    about = {"__module__": __name__, "__doc__": hooks.__doc__}
    globals()[name] = made = type(name, (hooks, _find_base(base, modules)), about)
    return made


def _find_base(name: str, modules: Tuple[str, ...]) -> type:
    """Returns the class from the library that the program has already imported, else from the first one installed."""
    for module in sorted(modules, key=lambda module: module not in sys.modules):
        try:
            return cast(type, getattr(importlib.import_module(module), name))
        except ImportError as error:
            log.debug("%s: %s", module, error)
    raise ImportError(f"This callback needs {' or '.join(modules)}: install it, or call tidemark.save() yourself.")
