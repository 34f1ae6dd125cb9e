"""trl's SFTTrainer over a model and a tokenizer that are made here: FOLDER."""

import os
import sys

import journal
import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast, TrainerCallback
from transformers.trainer_utils import get_last_checkpoint
from trl import SFTConfig, SFTTrainer

FOLDER = sys.argv[1]
STEPS, EVERY = 40, 10
torch.manual_seed(0)
vocabulary = {word: at for at, word in enumerate(["<pad>", "<eos>", "<unk>", *(f"w{at}" for at in range(61))])}
tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>")
model = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=32, n_embd=8, n_layer=1, n_head=1))
data = Dataset.from_dict({"text": [" ".join(f"w{at * other % 61}" for other in range(1, 9)) for at in range(1, 65)]})


class Journal(TrainerCallback):
    loss = 0.0

    def on_train_begin(self, args, state, control, **kwargs):
        journal.begin(state.global_step)

    def on_step_end(self, args, state, control, **kwargs):
        journal.write({"step": state.global_step, "loss": self.loss})

    def on_step_begin(self, args, state, control, **kwargs):
        journal.hold(state.global_step)


class Told(SFTTrainer):
    def compute_loss(self, *arguments, **named):
        answer = super().compute_loss(*arguments, **named)
        listener.loss = float((answer[0] if isinstance(answer, tuple) else answer).detach())
        return answer


listener = Journal()
arguments = SFTConfig(
    FOLDER, max_steps=STEPS, save_steps=EVERY, per_device_train_batch_size=4, report_to=[], use_cpu=True, max_length=16,
    bf16=False,
)  # fmt: skip
trainer = Told(model=model, args=arguments, train_dataset=data, processing_class=fast, callbacks=[listener])
last = get_last_checkpoint(FOLDER) if os.path.isdir(FOLDER) else None
trainer.train(resume_from_checkpoint=last)
journal.final(journal.weigh(model.parameters()))
