"""A training program for tests: `training.py KIND FOLDER LOG UNTIL FIXTURES`.

It resumes where `tidemark run` placed a checkpoint, reports every step to its worker, then logs it to LOG, and saves every
tenth step. KIND chooses the variant. `replay-...` writes files of a real library (FIXTURES) one after another, in chunks, as
the library does. `trainer`, `lightning` and `dcp` run the libraries themselves. `steps` saves nothing; it pauses for good once
the file LOG.rest exists, and then creates LOG.resting. The exit code is 42 when the checkpoint to resume from is incomplete,
and 43 when FOLDER has a newer one than the worker named.
"""

import json
import os
import re
import shutil
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "clients", "python"))
import tidemark  # noqa: E402

KIND, FOLDER, LOG, UNTIL, FIXTURES = sys.argv[1:6]
UNTIL = int(UNTIL)
SAVE_EVERY = 10
KEEP = 2
TORN, MISLED = 42, 43
NAMES = {
    "replay-trainer": "checkpoint-{}",
    "replay-dcp": "step_{}",
    "replay-lightning": "epoch=0-step={}.ckpt",
    "trainer": "checkpoint-{}",
    "dcp": "step_{}",
    "lightning": "epoch=0-step={}.ckpt",
    "steps": "checkpoint-{}",
}
# Order in which the Trainer writes files; its own state is last.
TRAINER_ORDER = "config generation_config model optimizer scheduler rng_state training_args trainer_state".split()


def name_of(step: int) -> str:
    return NAMES[KIND].format(step)


def saved_steps() -> list:
    pattern = re.compile(re.escape(name_of(7)).replace("7", r"(\d+)") + "$")
    # A restored checkpoint has this name, whatever the library calls it.
    found = [pattern.match(name) or re.match(r"checkpoint-(\d+)$", name) for name in os.listdir(FOLDER)]
    return sorted(int(match.group(1)) for match in found if match)


def say(step: int) -> None:
    tidemark.step(step)
    with open(LOG, "a", encoding="ascii") as log:
        log.write(f"{step}\n")


def write_slowly(path: str, content: bytes) -> None:
    third = len(content) // 3 + 1
    with open(path, "wb") as file:
        for at in range(0, len(content), third):
            file.write(content[at : at + third])
            file.flush()
            time.sleep(0.004)


def fixture_files(step: int) -> list:
    """Returns names and contents in the order in which the library writes them."""
    if KIND == "replay-lightning":
        with open(os.path.join(FIXTURES, "lightning", "epoch=0-step=4.ckpt"), "rb") as file:
            return [("", file.read())]
    folder = {"replay-trainer": ("transformers-trainer", "checkpoint-4"), "replay-dcp": ("torch-dcp", "step_2")}[KIND]
    place = os.path.join(FIXTURES, *folder)
    files = []
    for name in os.listdir(place):
        with open(os.path.join(place, name), "rb") as file:
            content = file.read()
        if name == "trainer_state.json":
            content = json.dumps({**json.loads(content), "global_step": step}).encode()
        files.append((name, content))
    if KIND == "replay-trainer":
        return sorted(files, key=lambda one: TRAINER_ORDER.index(one[0].split(".")[0]))
    return sorted(files, key=lambda one: one[0] == ".metadata")


def replay_save(step: int) -> str:
    path = os.path.join(FOLDER, name_of(step))
    if KIND == "replay-lightning":
        ((_, content),) = fixture_files(step)
        write_slowly(f"{path}.tmp", content)
        os.replace(f"{path}.tmp", path)
        return path
    os.makedirs(path, exist_ok=True)
    for name, content in fixture_files(step):
        place = os.path.join(path, name)
        if name == ".metadata":
            write_slowly(f"{place}.tmp", content)
            os.replace(f"{place}.tmp", place)
        else:
            write_slowly(place, content)
    return path


def is_whole(path: str, step: int) -> bool:
    """Returns whether every byte of the checkpoint is still the same."""
    for name, content in fixture_files(step):
        place = path if name == "" and os.path.isfile(path) else os.path.join(path, name or name_of(step))
        try:
            with open(place, "rb") as file:
                if file.read() != content:
                    return False
        except OSError:
            return False
    return True


def replay(path, step: int) -> None:
    if path is not None and not is_whole(path, step):
        sys.exit(TORN)
    while step < UNTIL:
        time.sleep(0.003)
        step += 1
        say(step)
        if step % SAVE_EVERY:
            continue
        saved = replay_save(step)
        for old in saved_steps()[:-KEEP]:
            place = os.path.join(FOLDER, name_of(old))
            shutil.rmtree(place) if os.path.isdir(place) else os.path.exists(place) and os.remove(place)
        # Only every other checkpoint is announced; the worker must find the others.
        if step % (2 * SAVE_EVERY) == 0:
            tidemark.save(saved, step=step)
        print(f"saved {step}", flush=True)


def walk(path, step: int) -> None:
    while step < UNTIL:
        if os.path.exists(f"{LOG}.rest"):
            with open(f"{LOG}.resting", "w", encoding="ascii"):
                time.sleep(3600)
        time.sleep(0.003)
        step += 1
        say(step)


def train(path, step: int) -> None:
    """Runs the Trainer of transformers, which fails on a torn checkpoint because it reads all of it."""
    import make_fixtures
    import torch
    from transformers import Trainer, TrainerCallback, TrainingArguments

    class Log(TrainerCallback):
        def on_step_end(self, args, state, control, **kwargs):
            with open(LOG, "a", encoding="ascii") as log:
                log.write(f"{state.global_step}\n")

    tokens = [{"input_ids": torch.arange(8), "labels": torch.arange(8)} for _ in range(10_000)]
    arguments = TrainingArguments(
        output_dir=FOLDER, max_steps=UNTIL, save_steps=SAVE_EVERY, save_strategy="steps", save_total_limit=KEEP,
        per_device_train_batch_size=1, use_cpu=True, report_to=[], disable_tqdm=True, logging_strategy="no",
    )  # fmt: skip
    callbacks = [tidemark.TidemarkCallback(), Log()]
    trainer = Trainer(model=make_fixtures._llama(), args=arguments, train_dataset=tokens, callbacks=callbacks)
    if step < UNTIL:
        trainer.train(resume_from_checkpoint=path)
        if trainer.state.global_step < step:
            sys.exit(TORN)


def fit(path, step: int) -> None:
    """Runs the Trainer of Lightning."""
    import make_fixtures
    import pytorch_lightning as lightning
    import torch
    from pytorch_lightning.callbacks import Callback, ModelCheckpoint

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = make_fixtures._model()

        def training_step(self, batch, batch_idx):
            return self.model(batch).sum()

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters())

    class Log(Callback):
        def on_train_batch_end(self, trainer, *rest):
            with open(LOG, "a", encoding="ascii") as log:
                log.write(f"{trainer.global_step}\n")

    if path is not None and os.path.isdir(path):
        path = os.path.join(path, os.listdir(path)[0])
    saver = ModelCheckpoint(dirpath=FOLDER, every_n_train_steps=SAVE_EVERY, save_top_k=-1)
    trainer = lightning.Trainer(
        max_steps=UNTIL, accelerator="cpu", devices=1, logger=False, enable_progress_bar=False,
        enable_model_summary=False, callbacks=[saver, tidemark.TidemarkLightningCallback(), Log()],
    )  # fmt: skip
    if step < UNTIL:
        trainer.fit(Module(), torch.utils.data.DataLoader(torch.ones(10_000, 4), batch_size=1), ckpt_path=path)


def checkpoint(path, step: int) -> None:
    """Runs a training loop with torch.distributed.checkpoint."""
    import make_fixtures
    import torch.distributed.checkpoint as dcp

    state = make_fixtures._state()
    if path is not None:
        dcp.load(state, checkpoint_id=path, no_dist=True)
        if state["step"] != step:
            sys.exit(TORN)
    while step < UNTIL:
        step += 1
        say(step)
        if step % SAVE_EVERY:
            continue
        state["step"] = step
        saved = os.path.join(FOLDER, name_of(step))
        dcp.save(state, checkpoint_id=saved, no_dist=True)
        if step % (2 * SAVE_EVERY) == 0:
            tidemark.save(saved, step=step)


os.makedirs(FOLDER, exist_ok=True)
start, start_step = tidemark.resume_path(), tidemark.resume_step() or 0
if any(other > start_step for other in saved_steps()):
    sys.exit(MISLED)
print(f"starts at {start_step}", flush=True)
{"steps": walk, "trainer": train, "lightning": fit, "dcp": checkpoint}.get(KIND, replay)(start, start_step)
