"""A training loop on a GPU, for `npm run bench -- training --gpu`: `train_gpu.py FOLDER STEPS SAVE_EVERY`.

A small language model learns in bfloat16 while other processes make its batches, as data loaders do. It speaks as `train.c` does: after
SAVE_EVERY steps it writes FOLDER/checkpoint-STEP (weights and both moments of AdamW), says "save STEP" and waits for a line; at the
end it says "step SECONDS" for each step. First of all it says "device NAME".
"""

import json
import os
import sys
import time

import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, IterableDataset

FOLDER, STEPS, SAVE_EVERY = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
# The batch is large enough to keep the GPU busy. With 16 texts in a batch the GPU waited for the CPU, and
# steps took between 22 and 30 ms from one minute to the next, with or without an upload.
WORDS, WIDTH, HEADS, LAYERS, LENGTH, BATCH = 16_384, 512, 8, 12, 512, 64
LOADERS = 4


class Texts(IterableDataset):
    """Random words: what they say does not matter here, that somebody has to make them does."""

    def __iter__(self):
        while True:
            yield torch.randint(0, WORDS, (LENGTH + 1,))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before = nn.LayerNorm(WIDTH)
        self.asks = nn.Linear(WIDTH, 3 * WIDTH)
        self.says = nn.Linear(WIDTH, WIDTH)
        self.between = nn.LayerNorm(WIDTH)
        self.thinks = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        batch, length, _ = x.shape
        heads = self.asks(self.before(x)).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.says(seen.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.thinks(self.between(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.places = nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.after = nn.LayerNorm(WIDTH)

    def forward(self, text):
        x = self.words(text) + self.places(torch.arange(text.shape[1], device=text.device))
        return self.after(self.blocks(x)) @ self.words.weight.T


def save(model: nn.Module, optimizer: torch.optim.Optimizer, step: int) -> None:
    folder = os.path.join(FOLDER, f"checkpoint-{step}")
    os.makedirs(folder)
    save_file(model.state_dict(), os.path.join(folder, "model.safetensors"))
    torch.save(optimizer.state_dict(), os.path.join(folder, "optimizer.pt"))
    with open(os.path.join(folder, "trainer_state.json"), "w", encoding="utf-8") as file:
        json.dump({"global_step": step}, file)


def main() -> None:
    if not torch.cuda.is_available():
        sys.exit("PyTorch sees no GPU here.")
    print(f"device {torch.cuda.get_device_name()}", flush=True)
    torch.manual_seed(1)
    model = Model().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    batches = iter(DataLoader(Texts(), batch_size=BATCH, num_workers=LOADERS, pin_memory=True))
    took = []
    for step in range(1, STEPS + 1):
        started = time.monotonic()
        text = next(batches).cuda(non_blocking=True)
        with torch.autocast("cuda", torch.bfloat16):
            said = model(text[:, :-1])
            loss = functional.cross_entropy(said.flatten(0, 1), text[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        # Training programs read the loss, and so wait for the GPU.
        loss.item()
        took.append(time.monotonic() - started)
        if step % SAVE_EVERY == 0:
            save(model, optimizer, step)
            print(f"save {step}", flush=True)
            if sys.stdin.readline() == "":
                sys.exit(1)
    for seconds in took:
        print(f"step {seconds:.9f}")
    sys.stdout.flush()
    # The data loaders never end by themselves.
    os._exit(0)


if __name__ == "__main__":
    main()
