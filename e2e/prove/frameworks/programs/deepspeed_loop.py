"""DeepSpeed, ZeRO 1 on a CPU: FOLDER. Writes `global_step10/` and `latest`."""

import os
import sys

os.environ["DS_ACCELERATOR"] = "cpu"
import deepspeed
import journal
import torch

FOLDER = sys.argv[1]
STEPS, EVERY = 40, 10
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
config = {
    "train_batch_size": 16,
    "zero_optimization": {"stage": 1},
    "zero_force_ds_cpu_optimizer": False,
    "bf16": {"enabled": True},
}
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
engine, optimizer, _, _ = deepspeed.initialize(model=model, optimizer=optimizer, config=config)
path, _ = engine.load_checkpoint(FOLDER)
step = engine.global_steps
journal.begin(step)
while step < STEPS:
    step += 1
    inputs = torch.randn(16, 8, generator=torch.Generator().manual_seed(step)).bfloat16()
    loss = torch.nn.functional.mse_loss(engine(inputs).float(), inputs.float().sum(dim=1, keepdim=True).sin())
    engine.backward(loss)
    engine.step()
    if step % EVERY == 0:
        engine.save_checkpoint(FOLDER)
    journal.record(step, loss.item())
journal.final(journal.weigh(engine.module.parameters()))
