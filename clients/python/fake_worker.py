"""Imitates the local API of a worker for tests: gives scripted answers and records every request."""

from __future__ import annotations

import json
import os
import shutil
import socketserver
import tempfile
import threading
from http.server import BaseHTTPRequestHandler
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, Type, Union


class Asked(NamedTuple):
    method: str
    path: str
    body: Any
    authorization: Optional[str]


Answer = Tuple[int, Any]
# Bytes are sent as they are; None closes the connection without an answer.
Script = Union[Answer, bytes, None, Callable[[Any], Answer]]

SAVED = {"id": "c-1", "run": "llama", "step": 500, "state": "running", "sizeBytes": 9, "files": 2}
RESTORED = {"run": "llama", "step": 500, "checkpointId": "c-1", "passedOver": None}
DEFAULTS: Dict[str, Script] = {
    "/v1/state": (200, {"pending": 0, "error": None}),
    "/v1/status": (200, {"node": "gpu-7", "runs": []}),
    "/v1/save": lambda body: (200, dict(SAVED, state="done")) if body.get("wait") else (202, SAVED),
    "/v1/flush": (200, {"pending": 0, "error": None}),
    "/v1/restore": lambda body: (200, dict(RESTORED, path=body["path"])),
    "/v1/step": (204, None),
    "/v1/begin": (204, None),
    # A worker of an earlier version answers so.
    "/v1/record": (404, {"fault": {"code": "NOT_FOUND", "sentence": "The worker answers other things."}}),
}


class _Quiet:
    """Ignores errors of a connection: in some tests the client leaves before the answer."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass


class _UnixServer(_Quiet, socketserver.ThreadingUnixStreamServer):
    pass


class _LoopbackServer(_Quiet, socketserver.ThreadingTCPServer):
    pass


class FakeWorker:
    """Listens until `close`. `script` sets the answer by path; paths that are not in it get the answer in
    DEFAULTS."""

    def __init__(self, folder: Optional[str] = None, token: Optional[str] = None) -> None:
        self.asked: List[Asked] = []
        self.script: Dict[str, Script] = {}
        self.token = token
        # Paths in `held` are answered only after their event is set.
        self.held: Dict[str, threading.Event] = {}
        self._folder = tempfile.mkdtemp(prefix="tidemark-fake-")
        self.socket_path = os.path.join(folder or self._folder, "local.sock")
        self.token_file = os.path.join(self._folder, "token")
        self.url = ""
        self._server: Union[_UnixServer, _LoopbackServer]
        if token is None:
            self._server = _UnixServer(self.socket_path, _handler(self))
        else:
            with open(self.token_file, "w", encoding="utf-8") as file:
                file.write(token + "\n")
            self._server = _LoopbackServer(("127.0.0.1", 0), _handler(self))
            self.url = f"http://127.0.0.1:{self._server.server_address[1]!r}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def bodies(self, path: str) -> List[Any]:
        return [asked.body for asked in list(self.asked) if asked.path == path]

    def close(self) -> None:
        for event in self.held.values():
            event.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _handler(worker: FakeWorker) -> Type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def _answer(self) -> None:
            content = self.rfile.read(int(self.headers.get("content-length") or 0))
            body = json.loads(content) if content else None
            authorization = self.headers.get("authorization")
            # Every client sends this request before its first step. Only tests that script its answer examine it.
            if self.path != "/v1/record" or self.path in worker.script:
                worker.asked.append(Asked(self.command, self.path, body, authorization))
            held = worker.held.get(self.path)
            if held is not None:
                held.wait()
            script = worker.script.get(self.path, DEFAULTS.get(self.path))
            if worker.token is not None and authorization != f"Bearer {worker.token}":
                script = (401, {"fault": {"code": "ACCESS_DENIED", "sentence": "The token is not this worker's."}})
            if script is None or isinstance(script, bytes):
                self.close_connection = True
                self.wfile.write(script or b"")
                return
            status, answer = script(body) if callable(script) else script
            text = b"" if answer is None else json.dumps(answer).encode()
            self.send_response(status)
            if status != 204:
                self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, format: str, *args: Any) -> None:
            """Logs nothing."""

    return Handler
