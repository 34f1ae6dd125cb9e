"""Run with `python3 -m unittest test_tidemark` in this folder. Needs nothing but Python."""

from __future__ import annotations

import hashlib
import http.client
import json
import logging
import os
import pickle
import shutil
import socket
import struct
import sys
import tempfile
import threading
import time
import types
import unittest
import warnings
import zlib
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple
from unittest import mock

import tidemark
from fake_worker import RESTORED, SAVED, FakeWorker
from tidemark import Client, TidemarkError

VARIABLES = ("HUB", "API_TOKEN", "SOCKET", "LOCAL_URL", "LOCAL_TOKEN_FILE", "STATE", "STEP_RECORD", "RESUME_PATH", "RESUME_STEP")


class Case(unittest.TestCase):
    """A folder of its own, and an environment in which nothing names a worker."""

    def setUp(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="tidemark-test-")
        self.addCleanup(shutil.rmtree, self.folder)
        environment = mock.patch.dict(os.environ)
        environment.start()
        self.addCleanup(environment.stop)
        for name in VARIABLES:
            os.environ.pop(f"TIDEMARK_{name}", None)
        states = mock.patch.object(tidemark, "DEFAULT_STATES", (self.at("none"), self.at("home")))
        states.start()
        self.addCleanup(states.stop)
        tidemark._client._away_until = 0.0
        tidemark._client._records.clear()
        tidemark._begun.clear()

    def at(self, *names: str) -> str:
        return os.path.join(self.folder, *names)

    def start(self, folder: Optional[str] = None, token: Optional[str] = None) -> FakeWorker:
        worker = FakeWorker(folder, token)
        self.addCleanup(worker.close)
        return worker

    def start_named(self) -> FakeWorker:
        worker = self.start()
        os.environ["TIDEMARK_SOCKET"] = worker.socket_path
        return worker

    def refused(self, code: str, act: Callable[[], object]) -> str:
        """The sentence of the error that `act` has to raise."""
        with self.assertRaises(TidemarkError) as raised:
            act()
        self.assertEqual(raised.exception.code, code)
        self.assertEqual(str(raised.exception), raised.exception.sentence)
        return raised.exception.sentence


class WhatItSends(Case):
    def test_save_makes_the_path_absolute_and_leaves_out_what_was_not_given(self) -> None:
        worker = self.start_named()
        self.assertEqual(tidemark.save("out/checkpoint-500"), SAVED)
        self.assertEqual(worker.asked[0][:2], ("POST", "/v1/save"))
        self.assertEqual(worker.asked[0].body, {"path": os.path.join(os.getcwd(), "out", "checkpoint-500")})

    def test_save_takes_path_objects_and_whole_numbers_of_other_libraries(self) -> None:
        class Whole:
            def __int__(self) -> int:
                return 500

        worker = self.start_named()
        saved = tidemark.save(Path("/ckpt/ü"), run="llama", step=Whole(), wait=True)  # type: ignore[arg-type]
        self.assertEqual(saved["state"], "done")
        self.assertEqual(worker.asked[0].body, {"path": "/ckpt/ü", "run": "llama", "step": 500, "wait": True})

    def test_a_step_of_zero_is_sent(self) -> None:
        worker = self.start_named()
        tidemark.save("/ckpt/0", step=0)
        tidemark.step(0)
        self.assertEqual([asked.body.get("step") for asked in worker.asked], [0, 0])

    def test_state_and_status_are_what_the_worker_says(self) -> None:
        worker = self.start_named()
        worker.script["/v1/state"] = (200, {"pending": 2, "error": "no space"})
        self.assertEqual(tidemark.state(), {"pending": 2, "error": "no space"})
        self.assertEqual(tidemark.status(), {"node": "gpu-7", "runs": []})
        self.assertEqual([asked.method for asked in worker.asked], ["GET", "GET"])

    def test_flush_sends_its_time_in_milliseconds(self) -> None:
        worker = self.start_named()
        tidemark.flush()
        tidemark.flush(1.5, run="llama")
        self.assertEqual(worker.bodies("/v1/flush"), [{}, {"timeoutMs": 1500, "run": "llama"}])

    def test_a_flush_always_sends_a_time_that_the_worker_takes(self) -> None:
        worker = self.start_named()
        for seconds in (0, -1, 0.0004, float("-inf"), 1e-9, 86_400, 90_000.5, float("inf")):
            tidemark.flush(seconds)
        times = [body["timeoutMs"] for body in worker.bodies("/v1/flush")]
        self.assertEqual(times, [1, 1, 1, 1, 1, 86_400_000, 86_400_000, 86_400_000])

    def test_restore_says_what_lies_where(self) -> None:
        worker = self.start_named()
        found = tidemark.restore("/work/x", run="llama", step=500)
        self.assertEqual(found, dict(RESTORED, path="/work/x"))
        self.assertEqual(worker.bodies("/v1/restore"), [{"path": "/work/x", "run": "llama", "step": 500}])

    def test_a_waiting_answer_comes_when_it_comes(self) -> None:
        worker = self.start_named()
        worker.held["/v1/save"] = threading.Event()
        done: List[Any] = []
        with mock.patch.object(tidemark, "CONNECT_SECONDS", 0.1), mock.patch.object(tidemark, "ANSWER_SECONDS", 0.1):
            thread = threading.Thread(target=lambda: done.append(tidemark.save("/ckpt/1", wait=True)))
            thread.start()
            thread.join(0.3)
            self.assertEqual(done, [])
            worker.held["/v1/save"].set()
            thread.join()
        self.assertEqual(done[0]["state"], "done")


class WhereItLooks(Case):
    def test_the_socket_that_is_named_comes_first(self) -> None:
        named, other = self.start(), self.start(token="secret")
        os.environ.update(TIDEMARK_SOCKET=named.socket_path, TIDEMARK_LOCAL_URL=other.url)
        os.environ["TIDEMARK_LOCAL_TOKEN_FILE"] = other.token_file
        self.assertTrue(tidemark.available())
        self.assertEqual((len(named.asked), len(other.asked)), (1, 0))

    def test_then_the_address_on_this_machine_with_its_token(self) -> None:
        worker = self.start(token="secret")
        os.environ.update(TIDEMARK_LOCAL_URL=worker.url, TIDEMARK_LOCAL_TOKEN_FILE=worker.token_file)
        tidemark.save("/ckpt/1")
        self.assertEqual(worker.asked[0].authorization, "Bearer secret")

    def test_then_the_state_folder_that_is_named(self) -> None:
        worker = self.start(folder=self.folder)
        os.environ["TIDEMARK_STATE"] = self.folder
        tidemark.save("/ckpt/1")
        self.assertEqual(len(worker.asked), 1)

    def test_then_the_default_ones_past_a_socket_that_a_killed_worker_left(self) -> None:
        os.mkdir(self.at("none"))
        left = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        left.bind(self.at("none", "local.sock"))
        left.close()
        os.mkdir(self.at("home"))
        worker = self.start(folder=self.at("home"))
        tidemark.save("/ckpt/1")
        self.assertEqual(len(worker.asked), 1)

    def test_a_client_may_be_told(self) -> None:
        by_socket, by_url, unwanted = self.start(), self.start(token="secret"), self.start_named()
        Client(socket_path=by_socket.socket_path).status()
        Client(url=by_url.url, token_file=by_url.token_file).status()
        self.assertEqual([len(worker.asked) for worker in (by_socket, by_url, unwanted)], [1, 1, 0])

    def test_no_worker_is_a_sentence_with_every_place_and_what_to_do(self) -> None:
        for act in (lambda: tidemark.save("/c"), tidemark.state, tidemark.status, tidemark.flush):
            sentence = self.refused("NO_WORKER", act)
            self.assertIn(self.at("none", "local.sock"), sentence)
            self.assertIn(self.at("home", "local.sock"), sentence)
            self.assertIn("tidemark run --watch", sentence)
        self.refused("NO_WORKER", lambda: tidemark.restore("/c"))
        self.assertFalse(tidemark.available())

    def test_an_address_elsewhere_never_gets_the_token(self) -> None:
        os.environ["TIDEMARK_LOCAL_TOKEN_FILE"] = self.at("token")
        for url in ("http://10.0.0.1:80", "https://127.0.0.1:80", "http://127.0.0.1", "http://[", "127.0.0.1:80",
                    "http://127.0.0.1.example.com:80", "http://127.0.0.1:99999"):  # fmt: skip
            os.environ["TIDEMARK_LOCAL_URL"] = url
            self.assertIn(url, self.refused("BAD_INPUT", tidemark.state))
            self.assertFalse(tidemark.available())

    def test_a_token_that_is_not_named_not_there_or_wrong_is_said(self) -> None:
        worker = self.start(token="secret")
        os.environ["TIDEMARK_LOCAL_URL"] = worker.url
        self.assertIn("TIDEMARK_LOCAL_TOKEN_FILE", self.refused("BAD_INPUT", tidemark.state))
        os.environ["TIDEMARK_LOCAL_TOKEN_FILE"] = self.at("no-such-file")
        self.assertIn(self.at("no-such-file"), self.refused("BAD_INPUT", tidemark.state))
        with open(self.at("token"), "w", encoding="utf-8") as file:
            file.write("another")
        os.environ["TIDEMARK_LOCAL_TOKEN_FILE"] = self.at("token")
        self.assertEqual(self.refused("ACCESS_DENIED", tidemark.state), "The token is not this worker's.")

    def test_a_socket_path_that_cannot_be_one_is_said(self) -> None:
        for path in (self.at("x" * 200), self.at("nul\0")):
            client = Client(socket_path=path)
            self.refused("NO_WORKER", client.state)
            self.assertFalse(client.available())

    def test_where_python_has_no_unix_sockets_the_other_way_is_said(self) -> None:
        with mock.patch.object(tidemark, "socket", types.SimpleNamespace(timeout=socket.timeout)):
            self.assertIn("TIDEMARK_LOCAL_URL", self.refused("NO_WORKER", Client(socket_path=self.at("s")).state))


class WhatGoesWrong(Case):
    def test_a_fault_keeps_its_code_and_its_sentence(self) -> None:
        worker = self.start_named()
        worker.script["/v1/save"] = (409, {"fault": {"code": "NOT_FINISHED", "sentence": "/c: It is not finished."}})
        self.assertEqual(self.refused("NOT_FINISHED", lambda: tidemark.save("/c")), "/c: It is not finished.")

    def test_what_was_taken_but_did_not_become_safe_is_an_error_for_who_waits(self) -> None:
        worker = self.start_named()
        for end in ("failed", "cancelled"):
            worker.script["/v1/save"] = (200, dict(SAVED, state=end))
            self.assertIn(end, self.refused("NOT_SAFE", lambda: tidemark.save("/c", wait=True)))
        worker.script["/v1/save"] = (200, dict(SAVED, state="superseded"))
        self.assertEqual(tidemark.save("/c", wait=True)["state"], "superseded")

    def test_a_flush_that_ends_with_something_left_is_an_error(self) -> None:
        worker = self.start_named()
        worker.script["/v1/flush"] = (200, {"pending": 2, "error": None})
        self.assertIn("2 checkpoints", self.refused("NOT_SAFE", tidemark.flush))
        worker.script["/v1/flush"] = (200, {"pending": 0, "error": "the store refused it"})
        self.assertIn("the store refused it", self.refused("NOT_SAFE", tidemark.flush))

    def test_an_answer_of_something_else_is_said(self) -> None:
        worker = self.start_named()
        for answer in ((200, [1]), (404, "no"), (500, {"fault": "x"}), (302, {}), (500, {"fault": {"code": 1}})):
            worker.script["/v1/state"] = answer
            self.assertIn(worker.socket_path, self.refused("UNEXPECTED_ANSWER", tidemark.state))
        worker.script["/v1/state"] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n<htm>"
        self.refused("UNEXPECTED_ANSWER", tidemark.state)

    def test_a_worker_that_goes_away_before_its_answer_is_lost(self) -> None:
        worker = self.start_named()
        for answer in (None, b"not http at all\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n{"):
            worker.script["/v1/flush"] = answer
            self.assertIn("ask again", self.refused("WORKER_LOST", tidemark.flush))

    def test_a_worker_that_does_not_answer_is_not_waited_for_beyond_the_time_given(self) -> None:
        worker = self.start_named()
        worker.held.update({"/v1/flush": threading.Event(), "/v1/state": threading.Event()})
        with mock.patch.object(tidemark, "GRACE_SECONDS", 0.1), mock.patch.object(tidemark, "ANSWER_SECONDS", 0.1):
            self.assertIn("within 0.15 s", self.refused("TIMED_OUT", lambda: tidemark.flush(0.05)))
            self.refused("TIMED_OUT", tidemark.state)

    def test_an_error_survives_the_way_between_processes(self) -> None:
        error = pickle.loads(pickle.dumps(TidemarkError("NO_WORKER", "There is none.")))
        self.assertEqual((error.code, error.sentence), ("NO_WORKER", "There is none."))


class TheStep(Case):
    def test_it_is_told(self) -> None:
        worker = self.start_named()
        tidemark.step(7)
        tidemark.step(8, "llama")
        self.assertEqual(worker.bodies("/v1/step"), [{"step": 7}, {"step": 8, "run": "llama"}])

    def test_with_the_worker_away_it_is_quiet_and_asks_again_later(self) -> None:
        with mock.patch.object(tidemark, "AWAY_SECONDS", 3600.0):
            tidemark.step(1)
            worker = self.start_named()
            tidemark.step(2)
        self.assertEqual(worker.asked, [])
        now = time.monotonic()
        with mock.patch.object(time, "monotonic", lambda: now + 3601.0):
            tidemark.step(3)
        self.assertEqual(worker.bodies("/v1/step"), [{"step": 3}])

    def test_it_never_raises(self) -> None:
        worker = self.start_named()
        scripts: List[Any] = [None, (500, {}), (400, {"fault": {"code": "BAD_INPUT", "sentence": "No."}}), b"\0"]
        for script in scripts:
            worker.script["/v1/step"] = script
            client = Client()
            client.step(1)
            self.assertGreater(client._away_until, time.monotonic())
        Client(url="nonsense").step(1)
        Client().step("seven")  # type: ignore[arg-type]

    def test_a_worker_that_hangs_holds_it_for_a_second_at_most(self) -> None:
        worker = self.start_named()
        worker.held["/v1/step"] = threading.Event()
        self.assertLessEqual(tidemark.STEP_SECONDS, 0.5)
        with mock.patch.object(Client, "_connect", autospec=True, side_effect=Client._connect) as connect:
            tidemark.step(1)
        self.assertEqual(connect.call_args[0][1], tidemark.STEP_SECONDS)
        self.assertEqual(worker.bodies("/v1/step"), [{"step": 1}])
        self.assertGreater(tidemark._client._away_until, time.monotonic())


class TheStepRecord(Case):
    """What the worker reads of it is tested beside the worker."""

    def setUp(self) -> None:
        super().setUp()
        # The connection of a word stays open until the next one.
        warnings.simplefilter("ignore", ResourceWarning)
        self.worker = self.start_named()

    def make(self, name: str = "llama.step", run: str = "llama", version: int = 1) -> str:
        """As the worker makes it."""
        identity = os.urandom(16)
        header = struct.pack("<6sH16s32sI", b"TMSTEP", version, identity, hashlib.sha256(run.encode()).digest(), 0)
        with open(self.at(name), "wb") as file:
            file.write(header + struct.pack("<I", zlib.crc32(header)) + bytes(128))
        return self.at(name)

    def written(self, path: str) -> Tuple[int, int]:
        """Turn and step of what was written last."""
        with open(path, "rb") as file:
            content = file.read()
        self.assertEqual(len(content), 192)
        return max(struct.unpack("<QQ", content[at + 8 : at + 24]) for at in (64, 128))

    def words(self) -> List[int]:
        return [body["step"] for body in self.worker.bodies("/v1/step")]

    def test_every_step_is_written_and_the_worker_hears_of_it_once_a_second(self) -> None:
        os.environ["TIDEMARK_STEP_RECORD"] = path = self.make()
        now = time.monotonic()
        with mock.patch.object(time, "monotonic", lambda: now):
            for step in range(1, 101):
                tidemark.step(step)
        self.assertEqual(self.written(path), (100, 100))
        with mock.patch.object(time, "monotonic", lambda: now + 1.0):
            tidemark.step(101)
            tidemark.step(102)
        self.assertEqual(self.written(path), (102, 102))
        # Nobody waited for the answers.
        while len(self.words()) < 2:
            time.sleep(0.01)
        self.assertEqual(sorted(self.words()), [1, 101])

    def test_it_is_written_while_nobody_listens_and_while_the_worker_hangs(self) -> None:
        os.environ.update(TIDEMARK_STEP_RECORD=self.make(), TIDEMARK_SOCKET=self.at("nobody"))
        tidemark.step(1)
        tidemark.step(2)
        self.assertEqual(self.written(self.at("llama.step")), (2, 2))
        hanging = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.addCleanup(hanging.close)
        hanging.bind(self.at("hanging"))
        hanging.listen(8)
        client = Client(socket_path=self.at("hanging"))
        client._records[None] = tidemark._records[self.at("llama.step")]
        with mock.patch.object(http.client.HTTPConnection, "getresponse", side_effect=AssertionError("it waited")):
            client.step(3)
        self.assertEqual(client._away_until, 0.0)
        self.assertEqual(self.written(self.at("llama.step")), (3, 3))

    def test_where_no_file_is_named_the_worker_is_asked_for_it_once(self) -> None:
        path = self.make()
        self.worker.script["/v1/record"] = (200, {"path": path, "run": "llama", "version": 1})
        tidemark.step(7, "llama")
        tidemark.step(8, "llama")
        self.assertEqual(self.written(path), (2, 8))
        self.assertEqual(self.worker.bodies("/v1/record"), [{"run": "llama"}])

    def test_beside_an_agent_the_beginning_is_said_once_before_the_first_step_is_written(self) -> None:
        path = self.make()
        self.worker.script["/v1/record"] = (200, {"path": path, "run": "llama", "version": 1})
        written_by_then: List[Tuple[int, int]] = []

        def begins(_: Any) -> Tuple[int, Any]:
            written_by_then.append(self.written(path))
            return 204, None

        self.worker.script["/v1/begin"] = begins
        tidemark.step(7, "llama")
        os.replace(self.make("new"), path)
        now = time.monotonic()
        with mock.patch.object(time, "monotonic", lambda: now + 1.0):
            tidemark.step(8, "llama")
            tidemark.step(9, "llama")
        self.assertEqual(self.written(path), (1, 9))
        self.assertEqual(self.worker.bodies("/v1/begin"), [{"step": 7, "run": "llama"}])
        self.assertEqual(written_by_then, [(0, 0)])

    def test_a_worker_that_knows_of_no_beginnings_stops_nobody(self) -> None:
        path = self.make()
        self.worker.script["/v1/record"] = (200, {"path": path, "run": "llama", "version": 1})
        self.worker.script["/v1/begin"] = (404, {"fault": {"code": "NOT_FOUND", "sentence": "It answers other things."}})
        tidemark.step(7)
        tidemark.step(8)
        self.assertEqual(self.written(path), (2, 8))

    def test_a_program_that_is_told_its_file_says_no_beginning(self) -> None:
        os.environ["TIDEMARK_STEP_RECORD"] = self.make()
        tidemark.step(7)
        self.assertEqual(self.worker.bodies("/v1/begin"), [])

    def test_a_file_that_the_worker_replaced_is_asked_for_again(self) -> None:
        path = self.make()
        self.worker.script["/v1/record"] = (200, {"path": path, "run": "llama", "version": 1})
        tidemark.step(7)
        os.replace(self.make("new"), path)
        now = time.monotonic()
        with mock.patch.object(time, "monotonic", lambda: now + 1.0):
            tidemark.step(8)
            tidemark.step(9)
        self.assertEqual(self.written(path), (1, 9))

    def test_a_program_of_an_earlier_start_says_nothing_any_more(self) -> None:
        os.environ["TIDEMARK_STEP_RECORD"] = path = self.make()
        with mock.patch.object(Client, "_send") as send:
            tidemark.step(7)
            self.assertEqual(send.call_count, 1)
            os.replace(self.make("new"), path)
            now = time.monotonic()
            with mock.patch.object(time, "monotonic", lambda: now + 2.0):
                tidemark.step(8)
            self.assertEqual(send.call_count, 1)
        self.assertEqual(self.written(path), (0, 0))

    def test_a_file_that_cannot_be_written_is_replaced_by_words(self) -> None:
        os.mkdir(self.at("folder"))
        with open(self.at("empty"), "wb"):
            pass
        os.symlink(self.make("target"), self.at("link"))
        bad = [self.at("nothing"), self.at("folder"), self.at("empty"), self.at("link"), self.make("later", version=2)]
        for step, path in enumerate(bad):
            os.environ["TIDEMARK_STEP_RECORD"] = path
            client = Client()
            client.step(step)
            client.step(step)
        self.assertEqual(self.words(), [0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
        self.assertEqual(self.written(self.at("target")), (0, 0))

    def test_a_disk_that_is_full_is_followed_by_words(self) -> None:
        os.environ["TIDEMARK_STEP_RECORD"] = self.make()
        with mock.patch.object(os, "pwrite", side_effect=OSError(28, "No space left on device")):
            tidemark.step(1)
            tidemark.step(2)
        self.assertEqual(self.words(), [1, 2])

    def test_a_client_that_is_told_of_another_worker_does_not_write_into_this_ones_file(self) -> None:
        os.environ["TIDEMARK_STEP_RECORD"] = path = self.make()
        other = self.start()
        Client(socket_path=other.socket_path).step(5)
        self.assertEqual(other.bodies("/v1/step"), [{"step": 5}])
        self.assertEqual(self.written(path), (0, 0))

    def test_a_client_that_has_written_can_be_sent_to_another_process(self) -> None:
        os.environ["TIDEMARK_STEP_RECORD"] = path = self.make()
        client = Client()
        client.step(1)
        pickle.loads(pickle.dumps(client)).step(2)
        self.assertEqual(self.written(path), (2, 2))

    def test_threads_write_one_after_the_other(self) -> None:
        os.environ["TIDEMARK_STEP_RECORD"] = path = self.make()
        threads = [threading.Thread(target=lambda: [tidemark.step(n) for n in range(200)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(self.written(path)[0], 800)

    def test_threads_whose_first_steps_meet_share_one_record(self) -> None:
        os.environ["TIDEMARK_STEP_RECORD"] = path = self.make()
        opened: List[str] = []
        real_open = os.open

        def slow_open(name: str, flags: int) -> int:
            opened.append(name)
            # So long that every thread comes to the door while the first is behind it.
            time.sleep(0.05)
            return real_open(name, flags)

        threads = [threading.Thread(target=tidemark.step, args=(n,)) for n in range(8)]
        with mock.patch.object(os, "open", slow_open):
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(opened, [path])
        self.assertEqual(self.written(path)[0], 8)

    @unittest.skipUnless(hasattr(os, "fork"), "no fork here")
    def test_a_child_forked_while_a_thread_opens_can_say_its_steps(self) -> None:
        os.environ["TIDEMARK_STEP_RECORD"] = path = self.make()
        with tidemark._opening:
            child = os.fork()
            if child == 0:
                tidemark.step(7)
                os._exit(0)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(self.written(path), (1, 7))


class WhereItGoesOn(Case):
    def test_nothing_is_said_when_it_starts_from_the_beginning(self) -> None:
        self.assertIsNone(tidemark.resume_path())
        self.assertIsNone(tidemark.resume_step())
        os.environ.update(TIDEMARK_RESUME_PATH="", TIDEMARK_RESUME_STEP="")
        self.assertIsNone(tidemark.resume_path())
        self.assertIsNone(tidemark.resume_step())

    def test_the_place_and_the_step_are_read(self) -> None:
        os.environ.update(TIDEMARK_RESUME_PATH="/c/checkpoint-0", TIDEMARK_RESUME_STEP="0")
        self.assertEqual(tidemark.resume_path(), "/c/checkpoint-0")
        self.assertEqual(tidemark.resume_step(), 0)

    def test_a_step_that_is_none_is_not_taken_for_the_beginning(self) -> None:
        os.environ["TIDEMARK_RESUME_STEP"] = "five"
        self.assertIn("five", self.refused("BAD_INPUT", tidemark.resume_step))


class Library:
    """A class that a library might have, with what its own constructor sets."""

    def __init__(self) -> None:
        self.is_ready = True


class Callbacks(Case):
    def setUp(self) -> None:
        super().setUp()
        modules = mock.patch.dict(sys.modules)
        modules.start()
        self.addCleanup(modules.stop)
        for name in ("TidemarkCallback", "TidemarkLightningCallback"):
            tidemark.__dict__.pop(name, None)
            self.addCleanup(tidemark.__dict__.pop, name, None)
        for name in ("transformers", "lightning", "lightning.pytorch", "pytorch_lightning"):
            # As if it were not installed.
            sys.modules[name] = None  # type: ignore[assignment]

    def install(self, module: str, name: str) -> type:
        base = type(name, (Library,), {})
        for part in (module.split(".")[0], module):
            sys.modules[part] = types.ModuleType(part)
        setattr(sys.modules[module], name, base)
        return base

    def warnings(self) -> List[str]:
        said: List[str] = []
        handler = logging.Handler()
        handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
        tidemark.log.addHandler(handler)
        self.addCleanup(tidemark.log.removeHandler, handler)
        tidemark.log.propagate = False
        self.addCleanup(setattr, tidemark.log, "propagate", True)
        return said


class WithoutTheLibraries(Callbacks):
    def test_asking_for_a_callback_says_what_is_missing(self) -> None:
        for name, missing in (("TidemarkCallback", "transformers"), ("TidemarkLightningCallback", "lightning.pytorch")):
            with self.assertRaisesRegex(ImportError, f"needs {missing}"):
                getattr(tidemark, name)

    def test_what_does_not_exist_does_not(self) -> None:
        self.assertFalse(hasattr(tidemark, "TidemarkNothing"))


class WithTransformers(Callbacks):
    def setUp(self) -> None:
        super().setUp()
        self.base = self.install("transformers", "TrainerCallback")
        self.worker = self.start_named()

    def train(self, callback: Any, rank: int = 0, ranks: int = 1) -> None:
        """Three steps, a checkpoint after the second."""
        args = types.SimpleNamespace(output_dir="/out", world_size=ranks)
        state = types.SimpleNamespace(global_step=0, is_world_process_zero=rank == 0)
        callback.on_train_begin(args, state, None, model=None)
        for step in (1, 2, 3):
            state.global_step = step
            callback.on_step_end(args, state, None, model=None)
            if step == 2:
                callback.on_save(args, state, None, model=None)
        callback.on_train_end(args, state, None, model=None)

    def asked(self) -> List[Tuple[str, Any]]:
        return [(asked.path[4:], (asked.body or {}).get("step")) for asked in self.worker.asked]

    def test_it_is_a_callback_of_the_library_made_by_its_constructor(self) -> None:
        callback = tidemark.TidemarkCallback()
        self.assertIsInstance(callback, self.base)
        self.assertTrue(callback.is_ready)
        self.assertIs(type(callback), tidemark.TidemarkCallback)

    def test_it_tells_every_step_and_hands_over_what_was_saved(self) -> None:
        self.train(tidemark.TidemarkCallback("llama"))
        self.assertEqual(self.asked(), [("step", 1), ("step", 2), ("save", 2), ("step", 3)])
        self.assertEqual(self.worker.bodies("/v1/save"), [{"path": "/out/checkpoint-2", "run": "llama", "step": 2}])
        self.assertEqual(self.worker.bodies("/v1/step")[0], {"step": 1, "run": "llama"})

    def test_with_several_ranks_the_first_speaks_when_all_have_written(self) -> None:
        callback = tidemark.TidemarkCallback()
        args = types.SimpleNamespace(output_dir="/out", world_size=2)
        state = types.SimpleNamespace(global_step=8, is_world_process_zero=True)
        callback.on_save(args, state, None)
        self.assertEqual(self.asked(), [])
        state.global_step = 9
        callback.on_step_end(args, state, None)
        self.assertEqual(self.asked(), [("save", 8), ("step", 9)])
        callback.on_save(args, state, None)
        callback.on_train_end(args, state, None)
        self.assertEqual(self.asked()[2:], [("save", 9)])

    def test_the_other_ranks_say_nothing(self) -> None:
        self.train(tidemark.TidemarkCallback(flush_at_end=True, strict=True), rank=1, ranks=2)
        self.assertEqual(self.asked(), [])

    def test_it_flushes_at_the_end_when_it_is_asked_to(self) -> None:
        self.train(tidemark.TidemarkCallback("llama", flush_at_end=True, flush_timeout=60))
        self.assertEqual(self.asked()[-1], ("flush", None))
        self.assertEqual(self.worker.bodies("/v1/flush"), [{"timeoutMs": 60_000, "run": "llama"}])

    def test_a_worker_that_fails_is_warned_of_once_and_training_goes_on(self) -> None:
        said = self.warnings()
        callback = tidemark.TidemarkCallback(flush_at_end=True)
        self.worker.script.update({"/v1/save": (500, {}), "/v1/flush": None, "/v1/step": None})
        self.train(callback)
        self.train(callback)
        self.assertEqual(len(said), 1)
        self.assertIn("Training goes on.", said[0])
        self.worker.script.clear()
        self.train(callback)
        self.worker.script["/v1/save"] = (500, {})
        self.train(callback)
        self.assertEqual(len(said), 2)

    def test_a_worker_that_never_answers_does_not_stop_training(self) -> None:
        said = self.warnings()
        self.worker.held["/v1/save"] = threading.Event()
        self.train(tidemark.TidemarkCallback(save_timeout=0.05))
        self.assertEqual(self.asked(), [("step", 1), ("step", 2), ("save", 2), ("step", 3)])
        self.assertEqual(len(said), 1)
        self.assertIn("did not answer within 0.05 s", said[0])
        self.refused("TIMED_OUT", lambda: self.train(tidemark.TidemarkCallback(save_timeout=0.05, strict=True)))

    def test_a_worker_has_half_a_minute_unless_it_is_given_another_time(self) -> None:
        patient = tidemark.TidemarkCallback(save_timeout=None)
        for callback, seconds in ((tidemark.TidemarkCallback(), 30.0), (patient, None)):
            with mock.patch.object(Client, "_ask", autospec=True, return_value=SAVED) as ask:
                callback._save("/c", 1)
            self.assertEqual(ask.call_args[1], {"answer_seconds": seconds})

    def test_without_a_worker_training_goes_on(self) -> None:
        said = self.warnings()
        self.train(tidemark.TidemarkCallback(client=Client(socket_path=self.at("nobody")), flush_at_end=True))
        self.assertEqual(len(said), 1)
        self.assertIn("No Tidemark worker answers", said[0])

    def test_strict_it_ends_with_the_first_refusal(self) -> None:
        client = Client(socket_path=self.at("nobody"))
        self.refused("NO_WORKER", lambda: self.train(tidemark.TidemarkCallback(client=client, strict=True)))
        self.worker.script["/v1/save"] = (400, {"fault": {"code": "NOT_FOUND", "sentence": "/out: It does not exist."}})
        self.refused("NOT_FOUND", lambda: self.train(tidemark.TidemarkCallback(strict=True)))
        self.worker.script["/v1/save"] = (202, SAVED)
        self.worker.script["/v1/flush"] = (504, {"fault": {"code": "STALLED", "sentence": "It is not safe yet."}})
        self.refused("STALLED", lambda: self.train(tidemark.TidemarkCallback(strict=True, flush_at_end=True)))

    def test_it_can_be_sent_to_another_process(self) -> None:
        self.train(pickle.loads(pickle.dumps(tidemark.TidemarkCallback("llama"))))
        self.assertEqual(len(self.worker.bodies("/v1/save")), 1)


class WithLightning(Callbacks):
    """`fit` calls the hooks in Lightning's order: ModelCheckpoint after all others."""

    def setUp(self) -> None:
        super().setUp()
        self.base = self.install("lightning.pytorch", "Callback")
        self.worker = self.start_named()
        self.model = self.make(weights_only=False)
        self.trainer = types.SimpleNamespace(global_step=0, is_global_zero=True, checkpoint_callbacks=[self.model])

    def make(self, *, weights_only: bool) -> types.SimpleNamespace:
        """What is read of a ModelCheckpoint."""
        return types.SimpleNamespace(
            best_model_path="", last_model_path="", best_k_models={}, save_weights_only=weights_only
        )

    def write(self, name: str, content: str = "x") -> str:
        with open(self.at(name), "w", encoding="utf-8") as file:
            file.write(content)
        return self.at(name)

    def fit(self, callback: Any, after: Dict[int, Callable[[], None]], steps: int = 3) -> None:
        callback.on_train_start(self.trainer, None)
        for batch in range(steps):
            callback.on_train_batch_start(self.trainer, None, None, batch)
            self.trainer.global_step += 1
            callback.on_train_batch_end(self.trainer, None, None, None, batch)
            after.get(self.trainer.global_step, lambda: None)()
        callback.on_fit_end(self.trainer, None)

    def saved(self) -> List[Tuple[str, int]]:
        return [(os.path.basename(body["path"]), body["step"]) for body in self.worker.bodies("/v1/save")]

    def keep(self, name: str, content: str = "x") -> Callable[[], None]:
        return lambda: setattr(self.model, "best_model_path", self.write(name, content))

    def test_it_is_a_callback_of_the_library_that_the_program_uses(self) -> None:
        self.assertIsInstance(tidemark.TidemarkLightningCallback(), self.base)
        del tidemark.__dict__["TidemarkLightningCallback"]
        sys.modules["lightning.pytorch"] = None  # type: ignore[assignment]
        older = self.install("pytorch_lightning", "Callback")
        callback = tidemark.TidemarkLightningCallback()
        self.assertIsInstance(callback, older)
        self.assertTrue(callback.is_ready)

    def test_it_tells_every_step_and_hands_over_each_file_once(self) -> None:
        callback = tidemark.TidemarkLightningCallback("llama")
        self.fit(callback, {1: self.keep("epoch=0-step=1.ckpt"), 3: self.keep("named-by-hand.ckpt")})
        self.assertEqual(self.saved(), [("epoch=0-step=1.ckpt", 1), ("named-by-hand.ckpt", 3)])
        self.assertEqual([body["step"] for body in self.worker.bodies("/v1/step")], [1, 2, 3])
        self.assertEqual({body["run"] for body in self.worker.bodies("/v1/save")}, {"llama"})

    def test_a_file_of_the_same_name_that_is_written_anew_is_handed_over_again(self) -> None:
        def last(content: str) -> Callable[[], None]:
            return lambda: setattr(self.model, "last_model_path", self.write("last.ckpt", content))

        self.fit(tidemark.TidemarkLightningCallback(), {1: last("1"), 3: last("333")})
        self.assertEqual(self.saved(), [("last.ckpt", 1), ("last.ckpt", 3)])

    def test_of_one_step_the_fullest_is_handed_over(self) -> None:
        weights = self.make(weights_only=True)
        self.trainer.checkpoint_callbacks = [weights, self.model]

        def write() -> None:
            weights.best_model_path = self.write("weights-step=2.ckpt")
            self.model.last_model_path = self.write("last.ckpt")
            self.model.best_k_models = {self.at("older-step=1.ckpt"): 0.4, self.write("full-step=2.ckpt"): 0.5}

        self.fit(tidemark.TidemarkLightningCallback(), {2: write})
        self.assertEqual(self.saved(), [("full-step=2.ckpt", 2)])

    def test_a_link_to_the_newest_is_not_handed_over_twice(self) -> None:
        def write() -> None:
            self.model.best_model_path = self.write("step=2.ckpt")
            os.symlink(self.model.best_model_path, self.at("last.ckpt"))
            self.model.last_model_path = self.at("last.ckpt")

        self.fit(tidemark.TidemarkLightningCallback(), {2: write})
        self.assertEqual(self.saved(), [("step=2.ckpt", 2)])

    def test_a_worker_that_never_answers_does_not_stop_training(self) -> None:
        said = self.warnings()
        self.worker.held["/v1/save"] = threading.Event()
        self.fit(tidemark.TidemarkLightningCallback(save_timeout=0.05), {1: self.keep("step=1.ckpt")})
        self.assertEqual([body["step"] for body in self.worker.bodies("/v1/step")], [1, 2, 3])
        self.assertEqual(len(said), 1)

    def test_what_lay_there_before_is_left_alone(self) -> None:
        self.keep("step=0.ckpt")()
        self.fit(tidemark.TidemarkLightningCallback(), {})
        self.assertEqual(self.saved(), [])

    def test_a_file_that_is_written_in_the_background_is_handed_over_when_it_is_there(self) -> None:
        self.fit(
            tidemark.TidemarkLightningCallback(),
            {
                1: lambda: setattr(self.model, "best_model_path", self.at("step=1.ckpt")),
                2: self.keep("step=1.ckpt"),
            },
        )
        self.assertEqual(self.saved(), [("step=1.ckpt", 1)])

    def test_other_callbacks_that_save_and_other_ranks_are_no_trouble(self) -> None:
        self.trainer.checkpoint_callbacks = [types.SimpleNamespace(), types.SimpleNamespace(best_model_path=None)]
        self.fit(tidemark.TidemarkLightningCallback(), {})
        self.assertEqual(self.saved(), [])
        self.worker.asked.clear()
        self.trainer.is_global_zero = False
        self.trainer.checkpoint_callbacks = [self.model]
        self.fit(tidemark.TidemarkLightningCallback(strict=True, flush_at_end=True), {5: self.keep("step=5.ckpt")})
        self.assertEqual(self.worker.asked, [])

    def test_it_flushes_at_the_end_when_it_is_asked_to_and_begins_strictly(self) -> None:
        self.fit(tidemark.TidemarkLightningCallback(flush_at_end=True, strict=True), {3: self.keep("step=3.ckpt")})
        paths = [asked.path for asked in self.worker.asked]
        self.assertEqual(paths[0], "/v1/state")
        self.assertEqual(paths[-2:], ["/v1/save", "/v1/flush"])

    def test_it_can_be_sent_to_another_process(self) -> None:
        self.fit(pickle.loads(pickle.dumps(tidemark.TidemarkLightningCallback())), {1: self.keep("step=1.ckpt")})
        self.assertEqual(self.saved(), [("step=1.ckpt", 1)])


class Hub(Case):
    """A hub that gives scripted answers, and records what it is asked."""

    def serve(self, *answers: Tuple[int, Any]) -> List[Tuple[str, str, Any]]:
        asked: List[Tuple[str, str, Any]] = []
        script = list(answers)

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                asked.append((self.path, self.headers["authorization"], body))
                status, answer = script.pop(0)
                if status == 0:
                    self.close_connection = True
                    return
                content = json.dumps(answer).encode()
                self.send_response(status)
                if status == 307:
                    self.send_header("location", "http://127.0.0.1:9/other")
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        server = HTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        os.environ["TIDEMARK_HUB"] = f"http://127.0.0.1:{server.server_port}/"
        os.environ["TIDEMARK_API_TOKEN"] = "tmk_of-the-test"
        wait = mock.patch.object(tidemark, "SUBMIT_WAIT_SECONDS", 0.01)
        wait.start()
        self.addCleanup(wait.stop)
        return asked

    def refused_by(self, *command: Any, **fields: Any) -> TidemarkError:
        with self.assertRaises(TidemarkError) as caught:
            tidemark.submit(*command, **fields)
        return caught.exception

    JOB = {"id": "j-1", "number": 1, "run": "llama", "queue": "default", "state": "waiting", "isNew": True}
    DONE = (200, {"result": {"data": {"jobs": [JOB]}}})

    def test_a_job_is_submitted_with_its_fields(self) -> None:
        asked = self.serve(self.DONE)
        made = tidemark.submit(
            ["python", "train.py", 3], name="llama", working_folder="src", matrix={"lr": ["1e-4"]}, idempotency_key="k", run=None
        )
        self.assertEqual(made, [self.JOB])
        path, authorization, body = asked[0]
        self.assertEqual((path, authorization), ("/api/trpc/jobs.submit", "Bearer tmk_of-the-test"))
        job = {"command": "python", "arguments": ["train.py", "3"], "name": "llama", "workingFolder": "src"}
        self.assertEqual(body, {"jobs": [dict(job, matrix={"lr": ["1e-4"]}, idempotencyKey="k")]})

    def test_a_lost_answer_is_asked_for_again_as_the_same_job(self) -> None:
        asked = self.serve((0, None), self.DONE)
        self.assertEqual(tidemark.submit(["true"]), [self.JOB])
        keys = [body["jobs"][0]["idempotencyKey"] for _, _, body in asked]
        self.assertEqual(len(keys), 2)
        self.assertEqual(keys[0], keys[1])

    def test_a_refusal_says_what_the_hub_says(self) -> None:
        fault = {"code": "BAD_INPUT"}
        self.serve((400, {"error": {"message": "The input is not valid.", "data": {"fault": fault}}}))
        error = self.refused_by(["true"], priority=1000)
        self.assertEqual((error.code, str(error)), ("BAD_INPUT", "The input is not valid."))

    def test_a_redirect_gets_no_token(self) -> None:
        asked = self.serve((307, {}))
        self.assertEqual(self.refused_by(["true"]).code, "UNEXPECTED_ANSWER")
        self.assertEqual(len(asked), 1)

    def test_what_is_missing_is_said_before_anything_is_sent(self) -> None:
        asked = self.serve()
        self.assertIn("list of words", str(self.refused_by("python train.py")))
        self.assertEqual(self.refused_by(["true"], token="tmj_x").code, "BAD_INPUT")
        self.assertEqual(self.refused_by(["true"], hub="http://hub.example.com").code, "HUB_PLAIN_HTTP")
        self.assertEqual(self.refused_by(["true"], hub="hub.example.com").code, "BAD_INPUT")
        self.assertIn("JSON", str(self.refused_by(["true"], labels=object())))
        self.assertEqual(asked, [])
        self.assertEqual(self.refused_by(["true"], hub="http://127.0.0.1:9").code, "HUB_UNREACHABLE")


if __name__ == "__main__":
    unittest.main()
