"""transformers' Trainer over a tiny GPT-2: FOLDER VARIANT, where VARIANT is fp32, bf16, lora, best, best-of-two, limit-1 or project."""

import os
import sys

import journal
import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint

FOLDER, VARIANT = sys.argv[1:3]
STEPS, EVERY = 40, 10
if VARIANT == "project":
    FOLDER = os.path.join(FOLDER, "outputs", "gpt2-tiny")


class Tokens(Dataset):
    def __init__(self, first: int, count: int):
        self.first, self.count = first, count

    def __len__(self):
        return self.count

    def __getitem__(self, at: int):
        random = torch.Generator().manual_seed(self.first + at)
        tokens = torch.randint(0, 64, (16,), generator=random)
        return {"input_ids": tokens, "labels": tokens}


class Journal(TrainerCallback):
    def __init__(self):
        self.loss = 0.0

    def on_train_begin(self, args, state, control, **kwargs):
        journal.begin(state.global_step)

    def on_step_end(self, args, state, control, **kwargs):
        journal.write({"step": state.global_step, "loss": self.loss})

    def on_step_begin(self, args, state, control, **kwargs):
        # After the save of the step before.
        journal.hold(state.global_step)


torch.manual_seed(0)
model = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=16, n_embd=8, n_layer=1, n_head=1))
if VARIANT == "lora":
    from peft import LoraConfig, get_peft_model

    model = get_peft_model(model, LoraConfig(r=2, target_modules=["c_attn"], task_type="CAUSAL_LM"))
listener = Journal()


def note_loss(module, inputs, output):
    if module.training and output.loss is not None:
        listener.loss = float(output.loss.detach())


model.register_forward_hook(note_loss)
extra = {
    "bf16": {"bf16": True},
    "best": {"load_best_model_at_end": True, "eval_strategy": "steps", "eval_steps": EVERY, "learning_rate": 0.05},
    "limit-1": {"save_total_limit": 1},
}
extra["best-of-two"] = {**extra["best"], "save_total_limit": 2}
arguments = TrainingArguments(
    FOLDER, max_steps=STEPS, save_steps=EVERY, per_device_train_batch_size=4, report_to=[], use_cpu=True,
    **extra.get(VARIANT, {}),
)  # fmt: skip
trainer = Trainer(
    model=model, args=arguments, train_dataset=Tokens(0, 64), eval_dataset=Tokens(10_000, 16), callbacks=[listener]
)
last = get_last_checkpoint(FOLDER) if os.path.isdir(FOLDER) else None
trainer.train(resume_from_checkpoint=last)
journal.final(journal.weigh(model.parameters()))
