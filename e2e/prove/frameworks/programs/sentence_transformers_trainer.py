"""sentence-transformers' trainer over a model that is made here: FOLDER."""

import os
import sys

import journal
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments, models
from sentence_transformers.losses import CosineSimilarityLoss
from tokenizers import Tokenizer, models as token_models, pre_tokenizers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast, TrainerCallback
from transformers.trainer_utils import get_last_checkpoint

FOLDER, MODEL = sys.argv[1:3]
STEPS, EVERY = 40, 10
WORDS = [f"w{at}" for at in range(60)]
torch.manual_seed(0)
if not os.path.isdir(MODEL):
    vocabulary = {word: at for at, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
    tokenizer = Tokenizer(token_models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )
    fast.save_pretrained(MODEL)
    BertModel(
        BertConfig(vocab_size=64, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8, max_position_embeddings=32)
    ).save_pretrained(MODEL)
transformer = models.Transformer(MODEL)
model = SentenceTransformer(modules=[transformer, models.Pooling(8)], device="cpu")
pairs = [(f"w{at % 60} w{at * 7 % 60}", f"w{at * 3 % 60} w{at * 5 % 60}", (at % 5) / 5) for at in range(64)]
data = Dataset.from_dict(
    {"sentence1": [one[0] for one in pairs], "sentence2": [one[1] for one in pairs], "score": [one[2] for one in pairs]}
)


class Journal(TrainerCallback):
    loss = 0.0

    def on_train_begin(self, args, state, control, **kwargs):
        journal.begin(state.global_step)

    def on_step_end(self, args, state, control, **kwargs):
        journal.write({"step": state.global_step, "loss": self.loss})

    def on_step_begin(self, args, state, control, **kwargs):
        journal.hold(state.global_step)


listener = Journal()
loss = CosineSimilarityLoss(model)
loss.register_forward_hook(lambda module, inputs, output: setattr(listener, "loss", float(output.detach())))
arguments = SentenceTransformerTrainingArguments(
    FOLDER, max_steps=STEPS, save_steps=EVERY, per_device_train_batch_size=4, report_to=[], use_cpu=True
)
trainer = SentenceTransformerTrainer(model=model, args=arguments, train_dataset=data, loss=loss, callbacks=[listener])
last = get_last_checkpoint(FOLDER) if os.path.isdir(FOLDER) else None
trainer.train(resume_from_checkpoint=last)
journal.final(journal.weigh(model.parameters()))
