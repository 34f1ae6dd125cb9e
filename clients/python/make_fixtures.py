"""Writes small checkpoints with the real libraries: `python3 make_fixtures.py ARCHIVE.tar.gz`.

Needs the packages of requirements-real.txt. Each writer fills one folder as a training program fills a watched folder.
The models are tiny. `versions.json` records the versions of the libraries.
The tests read the archive e2e/stage/fixtures/real-checkpoints.tar.gz.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import version
from typing import Any, Callable, Dict, Optional, Sequence

# Before torch is imported: no GPU, no telemetry, nothing fetched.
os.environ.update(CUDA_VISIBLE_DEVICES="", HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")

import torch

import tidemark

LIBRARIES = ("torch", "safetensors", "numpy", "transformers", "accelerate", "pytorch-lightning")
STEPS = 4
SAVE_EVERY = 2
RANKS = 2


def _model() -> Any:
    torch.manual_seed(7)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 2))


def _state() -> Dict[str, Any]:
    """Returns the state of a model and of an optimizer that has made one step."""
    model = _model()
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    return {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": SAVE_EVERY}


def _llama() -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(7)
    sizes = {"vocab_size": 16, "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1}
    return LlamaForCausalLM(LlamaConfig(**sizes, num_attention_heads=2, max_position_embeddings=16))


def train_transformers(folder: str, callbacks: Sequence[Any] = (), **wishes: Any) -> None:
    """Trains four steps with the Trainer, which saves after the second and the fourth."""
    from transformers import Trainer, TrainingArguments

    tokens = [{"input_ids": torch.arange(8), "labels": torch.arange(8)} for _ in range(2 * STEPS)]
    arguments: Dict[str, Any] = {"max_steps": STEPS, "save_steps": SAVE_EVERY, "save_strategy": "steps"}
    arguments.update(per_device_train_batch_size=1, use_cpu=True, report_to=[], disable_tqdm=True, logging_strategy="no")
    arguments.update(wishes)
    trainer = Trainer(
        model=_llama(),
        args=TrainingArguments(output_dir=folder, **arguments),
        train_dataset=tokens,  # type: ignore[arg-type, unused-ignore]
        callbacks=list(callbacks),
    )
    trainer.train()


def fit_lightning(folder: str, library: str = "pytorch_lightning", make: Optional[Callable[[], Any]] = None) -> None:
    """Trains four steps with Lightning's Trainer, which saves after the second and the fourth. `make` returns one
    more callback."""
    lightning = importlib.import_module(library)
    checkpoints = importlib.import_module(f"{library}.callbacks")

    class Module(lightning.LightningModule):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.model = _model()

        def training_step(self, batch: Any, batch_idx: int) -> Any:
            return self.model(batch).sum()

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(self.parameters())

    saver = checkpoints.ModelCheckpoint(dirpath=folder, every_n_train_steps=SAVE_EVERY, save_top_k=-1, save_last=True)
    trainer = lightning.Trainer(
        max_steps=STEPS,
        accelerator="cpu",
        devices=1,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[saver, *([] if make is None else [make()])],
    )
    trainer.fit(Module(), torch.utils.data.DataLoader(torch.ones(2 * STEPS, 4), batch_size=1))


def _write_trainer(folder: str) -> None:
    train_transformers(folder, save_total_limit=1)


def _write_trainer_of_ranks(folder: str) -> None:
    """Runs two processes; each writes its own random state."""
    run_ranks("train", folder)


def _write_shards(folder: str) -> None:
    _llama().save_pretrained(os.path.join(folder, "step_2"), max_shard_size="1KB")


def _write_accelerate(folder: str) -> None:
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    model = _model()
    model, _ = accelerator.prepare(model, torch.optim.AdamW(model.parameters()))
    accelerator.save_state(os.path.join(folder, "checkpoint_2"))


def _write_lightning(folder: str) -> None:
    fit_lightning(folder)


def _write_dcp(folder: str) -> None:
    import torch.distributed.checkpoint as dcp

    dcp.save(_state(), checkpoint_id=os.path.join(folder, "step_2"), no_dist=True)


def _write_dcp_of_ranks(folder: str) -> None:
    """Runs two processes, each with its half of a sharded tensor."""
    run_ranks("shard", folder)


def _write_torch(folder: str) -> None:
    torch.save(_state(), os.path.join(folder, "step_2.pt"))


def _write_torch_legacy(folder: str) -> None:
    torch.save(_state(), os.path.join(folder, "step_2.pt"), _use_new_zipfile_serialization=False)


def _write_safetensors(folder: str) -> None:
    from safetensors.torch import save_file

    save_file(_model().state_dict(), os.path.join(folder, "step_2.safetensors"))


def _write_numpy(folder: str) -> None:
    import numpy

    arrays = {name: tensor.numpy() for name, tensor in _model().state_dict().items()}
    numpy.savez(os.path.join(folder, "step_2.npz"), **arrays)


WRITERS: Dict[str, Callable[[str], None]] = {
    "transformers-trainer": _write_trainer,
    "transformers-trainer-2-ranks": _write_trainer_of_ranks,
    "transformers-shards": _write_shards,
    "accelerate-state": _write_accelerate,
    "lightning": _write_lightning,
    "torch-dcp": _write_dcp,
    "torch-dcp-2-ranks": _write_dcp_of_ranks,
    "torch-save": _write_torch,
    "torch-save-legacy": _write_torch_legacy,
    "safetensors": _write_safetensors,
    "numpy-npz": _write_numpy,
}


def run_ranks(what: str, folder: str) -> None:
    """Starts two ranks. `what` is `train`, `tell` (train and report to the worker in TIDEMARK_SOCKET) or `shard`
    (one tensor)."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={RANKS}"]
    subprocess.run([*command, os.path.abspath(__file__), "--rank", what, folder], check=True)


def _run_rank(what: str, folder: str) -> None:
    if what in ("train", "tell"):
        callbacks = [tidemark.TidemarkCallback()] if what == "tell" else []
        train_transformers(folder, callbacks, ddp_backend="gloo", save_total_limit=1)
        return
    import torch.distributed.checkpoint as dcp
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor

    torch.distributed.init_process_group("gloo")
    whole = torch.arange(64, dtype=torch.float32).reshape(8, 8)
    tensor = distribute_tensor(whole, init_device_mesh("cpu", (RANKS,)), [Shard(0)])
    dcp.save({"weight": tensor, "step": SAVE_EVERY}, checkpoint_id=os.path.join(folder, "step_2"))
    torch.distributed.destroy_process_group()


def make(archive: str) -> None:
    """Writes all fixtures, each in a folder named after its writer, and packs them without user names, ids and
    times."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as elsewhere:
        for name, write in WRITERS.items():
            os.mkdir(os.path.join(folder, name))
            # Some libraries leave files in the current folder.
            os.chdir(elsewhere)
            write(os.path.join(folder, name))
        with open(os.path.join(folder, "versions.json"), "w", encoding="utf-8") as file:
            json.dump({name: version(name) for name in LIBRARIES}, file, indent=2)
        with tarfile.open(archive, "w:gz", compresslevel=9) as packed:
            packed.add(folder, arcname=".", filter=_nameless)
        os.chdir(os.path.dirname(archive))


def _nameless(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    return entry


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rank"]:
        _run_rank(*sys.argv[2:4])
    elif len(sys.argv) == 2:
        make(os.path.abspath(sys.argv[1]))
    else:
        sys.exit("python3 make_fixtures.py ARCHIVE.tar.gz")
