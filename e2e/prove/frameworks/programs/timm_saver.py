"""timm's CheckpointSaver, as its train.py uses it: FOLDER. Writes `checkpoint-3.pth.tar`, `last.pth.tar`, `model_best.pth.tar`."""

import os
import sys

import journal
import timm
import torch
from timm.models import resume_checkpoint
from timm.utils import CheckpointSaver

FOLDER = sys.argv[1]
EPOCHS = 8
torch.manual_seed(0)
model = timm.create_model("vit_tiny_patch16_224", num_classes=4, img_size=32, embed_dim=8, depth=1, num_heads=1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
last, first = os.path.join(FOLDER, "last.pth.tar"), 0
if os.path.exists(last):
    first = resume_checkpoint(model, last, optimizer=optimizer, log_info=False)
saver = CheckpointSaver(model, optimizer, checkpoint_dir=FOLDER, recovery_dir=FOLDER, max_history=3)
journal.begin(first)
for epoch in range(first, EPOCHS):
    random = torch.Generator().manual_seed(epoch)
    images, labels = torch.randn(4, 3, 32, 32, generator=random), torch.randint(0, 4, (4,), generator=random)
    torch.manual_seed(epoch)
    model.train()
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    # The best is epoch 1, so that it is not the newest.
    saver.save_checkpoint(epoch, metric=-abs(epoch - 1))
    journal.record(epoch + 1, loss.item())
journal.final(journal.weigh(model.parameters()))
