"""Speak to the Tidemark worker on this machine from a training program.

One file, Python 3.8 or newer, standard library only: copy it beside your program.

    path = tidemark.resume_path()            # None: start from the beginning
    tidemark.step(step)                      # cheap, never raises: how far training has come
    tidemark.save("out/checkpoint-500")      # it is finished on disk: take it now
    tidemark.flush()                         # returns when everything known by now is safe

    transformers.Trainer(..., callbacks=[tidemark.TidemarkCallback()])
    lightning.Trainer(..., callbacks=[tidemark.TidemarkLightningCallback()])

The worker is found by TIDEMARK_SOCKET (its unix socket), else by TIDEMARK_LOCAL_URL with the token in the file that
TIDEMARK_LOCAL_TOKEN_FILE names, else by `local.sock` in TIDEMARK_STATE, or in /var/lib/tidemark or ~/.tidemark.

`step`, `available` and the callbacks never raise; the others raise TidemarkError: what happened, and what to do.
"""

from __future__ import annotations

import http.client
import importlib
import json
import logging
import os
import re
import socket
import sys
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Set, Tuple, TypedDict, Union, cast
from urllib.parse import urlsplit

__all__ = ["Client", "TidemarkError", "available", "flush", "restore", "resume_path", "resume_step", "save", "state"]
__all__ += ["status", "step"]

log = logging.getLogger("tidemark")

CONNECT_SECONDS = 5.0
# For questions that the worker answers from memory.
ANSWER_SECONDS = 30.0
# `step` stands in the training loop: connect and answer share about a second, and a worker that is away is left alone.
STEP_SECONDS = 0.5
AWAY_SECONDS = 5.0
# The worker ends a flush by its own clock; its answer may take this much longer.
GRACE_SECONDS = 10.0
# The order in which the worker chooses its state folder.
DEFAULT_STATES = ("/var/lib/tidemark", os.path.join("~", ".tidemark"))

PathLike = Union[str, "os.PathLike[str]"]


# How many checkpoints are not safe yet, and what went wrong last, if anything did.
State = TypedDict("State", {"pending": int, "error": Optional[str]})
# A checkpoint that the worker took. `state`: waiting, running, done, superseded, failed or cancelled.
Saved = TypedDict("Saved", {"id": str, "run": str, "step": int, "state": str, "sizeBytes": int, "files": int})
Restored = TypedDict("Restored", {"run": str, "step": int, "path": str, "checkpointId": str})


class TidemarkError(Exception):
    """What the worker refused, or why it could not be asked.

    `code` is the worker's own, or one of NO_WORKER (none was found), WORKER_LOST (it went away before its answer),
    TIMED_OUT, UNEXPECTED_ANSWER, NOT_SAFE (it was taken, but did not become safe) and BAD_INPUT.
    """

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(code, sentence)
        self.code = code
        self.sentence = sentence

    def __str__(self) -> str:
        return self.sentence


class _Address(NamedTuple):
    """Where a worker may listen: at a unix socket, or at a port of this machine with a token."""

    name: str
    path: Optional[str] = None
    host: str = ""
    port: int = 0
    token: Optional[str] = None


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a unix socket."""

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


class Client:
    """One worker. Without arguments it is looked for at every call: it may come later, or start anew elsewhere."""

    def __init__(
        self, *, socket_path: Optional[PathLike] = None, url: str = "", token_file: Optional[PathLike] = None
    ) -> None:
        self._socket_path, self._url, self._token_file = socket_path, url, token_file
        self._away_until = 0.0

    def save(
        self, path: PathLike, *, run: Optional[str] = None, step: Optional[int] = None, wait: bool = False
    ) -> Saved:
        """Take the checkpoint at `path`, which is finished on disk. With `wait` it is safe when this returns.

        `run` may be left out when the worker watches exactly one, `step` when the name of the folder or file says it.
        """
        body = {"path": os.path.abspath(os.fsdecode(path)), "run": run, "step": _whole(step), "wait": wait or None}
        saved = cast(Saved, self._ask("POST", "/v1/save", body))
        if wait and saved.get("state") in ("failed", "cancelled"):
            why = f"{path}: it was taken, but did not become safe ({saved['state']}). The worker's log says why."
            raise TidemarkError("NOT_SAFE", why)
        return saved

    def state(self) -> State:
        """How many checkpoints are not safe yet, and the last error."""
        return cast(State, self._ask("GET", "/v1/state", answer_seconds=ANSWER_SECONDS))

    def status(self) -> Dict[str, Any]:
        """Everything that the worker tells of itself."""
        return self._ask("GET", "/v1/status", answer_seconds=ANSWER_SECONDS)

    def flush(self, timeout: Optional[float] = None, run: Optional[str] = None) -> None:
        """Return when all that is known by now is safe; raise TidemarkError when it is not within `timeout` seconds."""
        seconds = None if timeout is None else max(0.0, timeout)
        body = {"timeoutMs": None if seconds is None else round(seconds * 1000), "run": run}
        patience = None if seconds is None else seconds + GRACE_SECONDS
        answer = self._ask("POST", "/v1/flush", body, answer_seconds=patience)
        if answer.get("pending") or answer.get("error"):
            error = answer.get("error") or "no reason was given"
            why = f"{answer.get('pending', 0)} checkpoints are not safe: {error}."
            raise TidemarkError("NOT_SAFE", why)

    def restore(self, path: PathLike, *, run: Optional[str] = None, step: Optional[int] = None) -> Restored:
        """Put a checkpoint, the newest complete one unless `step` names another, into the folder `path`."""
        body = {"path": os.path.abspath(os.fsdecode(path)), "run": run, "step": _whole(step)}
        return cast(Restored, self._ask("POST", "/v1/restore", body))

    def step(self, step: int, run: Optional[str] = None) -> None:
        """Say how far training has come. Never raises; a worker that is away is asked again some seconds later."""
        try:
            if time.monotonic() >= self._away_until:
                self._ask("POST", "/v1/step", {"step": _whole(step), "run": run}, STEP_SECONDS, STEP_SECONDS)
        except Exception as error:
            self._away_until = time.monotonic() + AWAY_SECONDS
            log.debug("the step was not told: %s", error)

    def available(self) -> bool:
        """Whether a worker answers. Never raises."""
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
        """One request, one answer. `answer_seconds` None: the answer comes when it comes."""
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        given = {key: value for key, value in (body or {}).items() if value is not None}
        content = None if body is None else json.dumps(given).encode()
        connection, address = self._connect(connect_seconds)
        if address.token is not None:
            headers["Authorization"] = f"Bearer {address.token}"
        try:
            connection.sock.settimeout(answer_seconds)
            connection.request(method, path, content, headers)
            response = connection.getresponse()
            return _read_answer(response.status, response.read(), address)
        except socket.timeout as error:
            limit = "in time" if answer_seconds is None else f"within {answer_seconds:g} s"
            why = f"The Tidemark worker at {address.name} did not answer {limit}. Look at its log, then ask again."
            raise TidemarkError("TIMED_OUT", why) from error
        except (OSError, http.client.HTTPException) as error:
            why = f"The Tidemark worker at {address.name} went away before it answered ({_reason(error)})."
            raise TidemarkError("WORKER_LOST", f"{why} Look at its log; when it runs again, ask again.") from error
        finally:
            connection.close()

    def _connect(self, seconds: float) -> Tuple[http.client.HTTPConnection, _Address]:
        """The first place at which somebody listens: a worker that was killed leaves its socket behind."""
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
        return [_Address(path, path=path) for path in (os.path.join(folder, "local.sock") for folder in folders)]


def _at_url(url: str, token_file: Optional[PathLike]) -> _Address:
    """The token goes to this machine only: a name that could lead elsewhere is refused."""
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


def _whole(step: Optional[int]) -> Optional[int]:
    # The whole numbers of other libraries too, which JSON does not know.
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
    if status < 300 and isinstance(answer, dict):
        return answer
    fault = answer.get("fault") if isinstance(answer, dict) else None
    if isinstance(fault, dict) and isinstance(fault.get("code"), str) and isinstance(fault.get("sentence"), str):
        raise TidemarkError(fault["code"], fault["sentence"])
    why = f"What answers at {address.name} is no Tidemark worker that this file understands (HTTP {status})."
    raise TidemarkError("UNEXPECTED_ANSWER", f"{why} Use the tidemark.py of the worker's release.")


_client = Client()
save, restore, flush, step = _client.save, _client.restore, _client.flush, _client.step
state, status, available = _client.state, _client.status, _client.available


def resume_path() -> Optional[str]:
    """Where `tidemark run` put the checkpoint to go on from; None: start from the beginning."""
    return os.environ.get("TIDEMARK_RESUME_PATH") or None


def resume_step() -> Optional[int]:
    """The step of `resume_path()`; None: start from the beginning."""
    text = os.environ.get("TIDEMARK_RESUME_STEP") or None
    if text is not None and re.fullmatch(r"[0-9]{1,12}", text) is None:
        raise TidemarkError("BAD_INPUT", f"TIDEMARK_RESUME_STEP is {text!r}; it has to be a step such as 500.")
    return None if text is None else int(text)


class _Hooks:
    """What both callbacks share. Whatever the worker does, training goes on; with `strict` a refusal ends it."""

    def __init__(
        self, run: Optional[str] = None, *, flush_at_end: bool = False, flush_timeout: Optional[float] = None,
        strict: bool = False, client: Optional[Client] = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self._run, self._strict, self._client = run, strict, client or _client
        self._flush_at_end, self._flush_timeout = flush_at_end, flush_timeout
        self._has_warned = False

    def _save(self, path: str, step: int) -> None:
        self._guard("a checkpoint was not handed over", lambda: self._client.save(path, run=self._run, step=step))

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
            # Said once, and again only after it went well in between.
            if not self._has_warned:
                log.warning("Tidemark: %s: %s Training goes on.", what, error)
            self._has_warned = True


class _TrainerHooks(_Hooks):
    """For the Trainer of Hugging Face transformers: tells every step, and hands over what the Trainer saves.

    With several ranks a checkpoint is handed over at the next step: by then every rank has written its part of it.
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


# Where it lies, when it was written, how large it is: another one once it was written anew.
_Mark = Tuple[str, int, int]


class _LightningHooks(_Hooks):
    """For the Trainer of PyTorch Lightning: tells every step, and hands over what its ModelCheckpoint callbacks save.

    ModelCheckpoint comes after all other callbacks, so what it wrote is looked for at the next hook. Then it is whole: a
    file gets its name only when it is. Of several files of one step the fullest is handed over.
    """

    _seen: Set[_Mark] = set()
    _told: Optional[int] = None

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        if trainer.is_global_zero:
            # What lies there from before was handed over then.
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
        """What lies on the disk of what ModelCheckpoint names: whole states before weights, `last` after the others."""
        found: Dict[_Mark, Tuple[bool, bool]] = {}
        for callback in trainer.checkpoint_callbacks:
            weights_only = bool(getattr(callback, "save_weights_only", False))
            last = getattr(callback, "last_model_path", "")
            # The newest comes last; there may be thousands, and this is asked at every batch.
            newest = list(getattr(callback, "best_k_models", ()))[-1:]
            for path in (getattr(callback, "best_model_path", ""), *newest, last):
                try:
                    stats = os.stat(path)
                except (OSError, TypeError, ValueError):
                    continue
                # `last` may be a link to one of the others.
                mark = (os.path.realpath(path), stats.st_mtime_ns, stats.st_size)
                found[mark] = min(found.get(mark, (True, True)), (weights_only, path == last))
        return sorted(found, key=lambda mark: (found[mark], mark[1]))


_CALLBACKS: Dict[str, Tuple[type, str, Tuple[str, ...]]] = {
    "TidemarkCallback": (_TrainerHooks, "TrainerCallback", ("transformers",)),
    "TidemarkLightningCallback": (_LightningHooks, "Callback", ("lightning.pytorch", "pytorch_lightning")),
}


def __getattr__(name: str) -> Any:
    """Make the callbacks when they are asked for: their bases come from libraries that may not be installed."""
    if name not in _CALLBACKS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    hooks, base, modules = _CALLBACKS[name]
    # Under its name in this module, so that it can be pickled to the processes that Lightning starts.
    about = {"__module__": __name__, "__doc__": hooks.__doc__}
    globals()[name] = made = type(name, (hooks, _find_base(base, modules)), about)
    return made


def _find_base(name: str, modules: Tuple[str, ...]) -> type:
    """The class of the library that the program uses already, else of the first that is installed."""
    for module in sorted(modules, key=lambda module: module not in sys.modules):
        try:
            return cast(type, getattr(importlib.import_module(module), name))
        except ImportError as error:
            log.debug("%s: %s", module, error)
    raise ImportError(f"This callback needs {' or '.join(modules)}: install it, or call tidemark.save() yourself.")
