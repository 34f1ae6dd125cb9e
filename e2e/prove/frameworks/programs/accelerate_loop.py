"""accelerate's `save_state` with automatic naming: FOLDER [LIMIT]. The project folder is FOLDER."""

import os
import sys

import journal
import torch
from accelerate import Accelerator
from accelerate.utils import ProjectConfiguration, set_seed

FOLDER = sys.argv[1]
LIMIT = int(sys.argv[2]) if len(sys.argv) > 2 else None
STEPS, EVERY = 40, 10
set_seed(0)
accelerator = Accelerator(
    cpu=True,
    project_config=ProjectConfiguration(project_dir=FOLDER, automatic_checkpoint_naming=True, total_limit=LIMIT),
)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Dropout(0.1), torch.nn.Linear(16, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
random = torch.Generator().manual_seed(7)
inputs = torch.randn(STEPS * 4, 8, generator=random)
data = torch.utils.data.TensorDataset(inputs, inputs.sum(dim=1, keepdim=True).sin())
loader = torch.utils.data.DataLoader(data, batch_size=4)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)


class Progress:
    """What the program itself has to remember, as accelerate's guide says."""

    step = 0

    def state_dict(self):
        return {"step": self.step}

    def load_state_dict(self, state):
        self.step = state["step"]


progress = Progress()
accelerator.register_for_checkpointing(progress)
checkpoints = os.path.join(FOLDER, "checkpoints")
if os.path.isdir(checkpoints) and os.listdir(checkpoints):
    accelerator.load_state()
    # accelerate counts from 0 again unless it is told.
    accelerator.project_configuration.iteration = progress.step // EVERY
journal.begin(progress.step)
for batch, targets in accelerator.skip_first_batches(loader, progress.step):
    loss = torch.nn.functional.mse_loss(model(batch), targets)
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
    progress.step += 1
    if progress.step % EVERY == 0:
        accelerator.save_state()
    journal.record(progress.step, loss.item())
journal.final(journal.weigh(model.parameters()))
