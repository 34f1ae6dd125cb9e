"""The callbacks in the real Trainers: `python3 -m unittest test_real_libraries` in an environment that has what
requirements-real.txt names. A library that is not there is a failure here, so that nothing passes unseen.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import unittest
from typing import Any, Dict, List, Tuple

import tidemark
from fake_worker import SAVED, FakeWorker
from make_fixtures import fit_lightning, run_ranks, train_transformers


class RealTrainers(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="tidemark-real-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.worker = FakeWorker()
        self.addCleanup(self.worker.close)
        self.client = tidemark.Client(socket_path=self.worker.socket_path)
        # What lies on the disk at the moment of each save.
        self.found: Dict[str, Tuple[int, List[str]]] = {}
        self.worker.script["/v1/save"] = self.take

    def take(self, body: Any) -> Tuple[int, Any]:
        path = body["path"]
        names = sorted(os.listdir(path)) if os.path.isdir(path) else [os.path.basename(path)] * os.path.exists(path)
        self.found[os.path.basename(path)] = (body["step"], names)
        return 202, SAVED

    def order(self) -> List[str]:
        return [asked.path[4:] + (f" {asked.body['step']}" if "step" in asked.body else "") for asked in self.worker.asked]

    def test_transformers(self) -> None:
        callback = tidemark.TidemarkCallback("story", flush_at_end=True, client=self.client)
        train_transformers(self.folder, [callback])
        self.assertEqual(self.order(), ["step 1", "step 2", "save 2", "step 3", "step 4", "save 4", "flush"])
        self.assertEqual(sorted(self.found), ["checkpoint-2", "checkpoint-4"])
        for name, (step, names) in self.found.items():
            self.assertEqual(name, f"checkpoint-{step}")
            self.assertLessEqual(
                {"model.safetensors", "optimizer.pt", "rng_state.pth", "scheduler.pt", "trainer_state.json"}, set(names)
            )

    def test_transformers_with_two_ranks(self) -> None:
        os.environ["TIDEMARK_SOCKET"] = self.worker.socket_path
        self.addCleanup(os.environ.pop, "TIDEMARK_SOCKET")
        run_ranks("tell", self.folder)
        self.assertEqual(self.order(), ["step 1", "step 2", "save 2", "step 3", "step 4", "save 4"])
        self.assertLessEqual({"rng_state_0.pth", "rng_state_1.pth"}, set(self.found["checkpoint-2"][1]))

    def test_transformers_goes_on_while_the_worker_fails(self) -> None:
        self.worker.script.update({"/v1/save": (500, {}), "/v1/step": None, "/v1/flush": None})
        with self.assertLogs("tidemark", "WARNING") as logs:
            train_transformers(self.folder, [tidemark.TidemarkCallback(flush_at_end=True, client=self.client)])
        self.assertEqual(len(logs.records), 1)
        self.assertTrue(os.path.exists(os.path.join(self.folder, "checkpoint-4", "trainer_state.json")))

    def test_lightning(self) -> None:
        for library in ("pytorch_lightning", "lightning.pytorch"):
            with self.subTest(library):
                vars(tidemark).pop("TidemarkLightningCallback", None)
                self.worker.asked.clear()
                self.found.clear()
                folder = os.path.join(self.folder, library)
                make = lambda: tidemark.TidemarkLightningCallback("story", flush_at_end=True, client=self.client)
                fit_lightning(folder, library, make)
                self.assertEqual(self.order(), ["step 1", "step 2", "save 2", "step 3", "step 4", "save 4", "flush"])
                self.assertEqual(
                    self.found,
                    {
                        "epoch=0-step=2.ckpt": (2, ["epoch=0-step=2.ckpt"]),
                        "epoch=0-step=4.ckpt": (4, ["epoch=0-step=4.ckpt"]),
                    },
                )

    def test_lightning_goes_on_while_the_worker_is_away(self) -> None:
        self.worker.script.update({"/v1/save": None, "/v1/step": None, "/v1/flush": None})
        with self.assertLogs("tidemark", "WARNING") as logs:
            make = lambda: tidemark.TidemarkLightningCallback(flush_at_end=True, client=self.client)
            fit_lightning(self.folder, "pytorch_lightning", make)
        self.assertEqual(len(logs.records), 1)
        self.assertTrue(os.path.exists(os.path.join(self.folder, "epoch=0-step=4.ckpt")))


if __name__ == "__main__":
    unittest.main()
