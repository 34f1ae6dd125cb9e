"""Lightning's Trainer: FOLDER VARIANT.

`default`: nothing but `default_root_dir`. `dirpath`: `ModelCheckpoint(dirpath=FOLDER)` and a glob. `last`: the same with
`save_last=True` and `ckpt_path="last"`. `link`: `save_last="link"`. `monitor`: names without a step, and the best two. `version-0`: the default, where the
checkpoints of `version_0` are what is watched. `resume-path`: goes on from TIDEMARK_RESUME_PATH.
"""

import glob
import os
import sys

import journal
import lightning
import torch
from lightning.pytorch.callbacks import Callback, ModelCheckpoint

FOLDER, VARIANT = sys.argv[1:3]
BATCHES, EPOCHS = 10, 4


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))

    def training_step(self, batch, at):
        inputs, targets = batch
        return torch.nn.functional.mse_loss(self.layers(inputs), targets)

    def validation_step(self, batch, at):
        inputs, targets = batch
        loss = torch.nn.functional.mse_loss(self.layers(inputs), targets)
        # The second epoch is the best, and each one after it better than the first: the best two are that one and the newest.
        self.log("val_loss", loss * 0.0 + 0.58 - 0.01 * self.current_epoch - (0.07 if self.current_epoch == 1 else 0.0))

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=0.01)


class Journal(Callback):
    def on_train_start(self, trainer, module):
        journal.begin(trainer.global_step)

    def on_train_batch_end(self, trainer, module, outputs, batch, at):
        journal.write({"step": trainer.global_step, "loss": float(outputs["loss"])})

    def on_train_batch_start(self, trainer, module, batch, at):
        # After the save of the step before.
        journal.hold(trainer.global_step)


def newest(pattern: str):
    return max(glob.glob(os.path.join(FOLDER, pattern), recursive=True), key=os.path.getmtime, default=None)


torch.manual_seed(0)
random = torch.Generator().manual_seed(7)
inputs = torch.randn(BATCHES * 4, 8, generator=random)
data = torch.utils.data.TensorDataset(inputs, inputs.sum(dim=1, keepdim=True).sin())
loader = torch.utils.data.DataLoader(data, batch_size=4)
savers = {
    "dirpath": dict(dirpath=FOLDER, every_n_train_steps=BATCHES, save_top_k=-1),
    "last": dict(dirpath=FOLDER, save_last=True),
    "link": dict(dirpath=FOLDER, save_last="link", save_top_k=2, monitor="val_loss"),
    "monitor": dict(dirpath=FOLDER, filename="{epoch}-{val_loss:.2f}", monitor="val_loss", save_top_k=2, save_last=True),
    "resume-path": dict(dirpath=FOLDER),
}
callbacks = [Journal()]
if VARIANT in savers:
    callbacks.append(ModelCheckpoint(**savers[VARIANT]))
root = {"default_root_dir": FOLDER} if VARIANT in ("default", "version-0") else {"logger": False}
trainer = lightning.Trainer(
    max_epochs=EPOCHS, accelerator="cpu", devices=1, callbacks=callbacks, enable_progress_bar=False,
    enable_model_summary=False, num_sanity_val_steps=0, log_every_n_steps=BATCHES, **root,
)  # fmt: skip
resume = {
    "default": lambda: newest("lightning_logs/*/checkpoints/*.ckpt"),
    "version-0": lambda: newest("lightning_logs/*/checkpoints/*.ckpt"),
    "dirpath": lambda: newest("*.ckpt"),
    "resume-path": lambda: os.environ.get("TIDEMARK_RESUME_PATH") or None,
}.get(VARIANT, lambda: "last")()
module = Module()
validate = None if VARIANT in ("default", "version-0", "dirpath", "last", "resume-path") else loader
trainer.fit(module, loader, validate, ckpt_path=resume)
journal.final(journal.weigh(module.parameters()))
