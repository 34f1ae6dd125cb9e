"""A training loop of one's own over PyTorch: FOLDER VARIANT.

`numbered`: `ckpt_10.pt` and a glob. `two-files`: `model_step_10.pt` and `optim_step_10.pt`. `in-place`: one `ckpt.pt`, as
nanoGPT writes it. `out-folder`: the same in `out/ckpt.pt` of a watched project. `link`: `step_10.pt` and a link `latest.pt`.
`best`: `last.pt` and `best.pt`. `hydra`: `outputs/DATE/TIME/checkpoints/last.ckpt`, a new folder at each start.
"""

import glob
import os
import re
import sys
import time

import journal
import torch

FOLDER, VARIANT = sys.argv[1:3]
STEPS, EVERY = 40, 10
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
RUN = os.path.join(FOLDER, "outputs", time.strftime("%Y-%m-%d"), time.strftime("%H-%M-%S"), "checkpoints")


def batch(step: int):
    random = torch.Generator().manual_seed(step)
    inputs = torch.randn(16, 8, generator=random)
    return inputs, inputs.sum(dim=1, keepdim=True).sin()


def number(path: str) -> int:
    return int(re.findall(r"\d+", os.path.basename(path))[-1])


def find():
    """Returns what to load: the idiom of such programs."""
    if VARIANT == "numbered":
        return max(glob.glob(os.path.join(FOLDER, "ckpt_*.pt")), key=number, default=None)
    if VARIANT == "two-files":
        return max(glob.glob(os.path.join(FOLDER, "model_step_*.pt")), key=number, default=None)
    if VARIANT == "hydra":
        return max(glob.glob(os.path.join(FOLDER, "outputs/*/*/checkpoints/last.ckpt")), key=os.path.getmtime, default=None)
    names = {"in-place": "ckpt.pt", "out-folder": "out/ckpt.pt", "link": "latest.pt", "best": "last.pt"}
    path = os.path.join(FOLDER, names[VARIANT])
    return path if os.path.exists(path) else None


best = float("inf")


def save(step: int, loss: float) -> None:
    global best
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "iter_num": step, "best": best}
    if VARIANT == "numbered":
        torch.save(state, os.path.join(FOLDER, f"ckpt_{step}.pt"))
    elif VARIANT == "two-files":
        torch.save({"model": model.state_dict(), "iter_num": step}, os.path.join(FOLDER, f"model_step_{step}.pt"))
        torch.save(optimizer.state_dict(), os.path.join(FOLDER, f"optim_step_{step}.pt"))
    elif VARIANT in ("in-place", "out-folder"):
        place = FOLDER if VARIANT == "in-place" else os.path.join(FOLDER, "out")
        os.makedirs(place, exist_ok=True)
        torch.save(state, os.path.join(place, "ckpt.pt"))
    elif VARIANT == "link":
        torch.save(state, os.path.join(FOLDER, f"step_{step}.pt"))
        link = os.path.join(FOLDER, "latest.pt")
        if os.path.lexists(link):
            os.remove(link)
        os.symlink(f"step_{step}.pt", link)
    elif VARIANT == "best":
        better = loss < best
        state["best"] = best = min(best, loss)
        torch.save(state, os.path.join(FOLDER, "last.pt"))
        if better:
            torch.save(state, os.path.join(FOLDER, "best.pt"))
    elif VARIANT == "hydra":
        os.makedirs(RUN, exist_ok=True)
        torch.save(state, os.path.join(RUN, "last.ckpt"))


step = 0
found = find()
if VARIANT == "hydra":
    os.makedirs(os.path.join(os.path.dirname(RUN), ".hydra"))
    with open(os.path.join(os.path.dirname(RUN), ".hydra", "config.yaml"), "w", encoding="ascii") as file:
        file.write("lr: 0.01\n")
if found is not None:
    state = torch.load(found)
    model.load_state_dict(state["model"])
    if VARIANT == "two-files":
        optimizer.load_state_dict(torch.load(found.replace("model_step_", "optim_step_")))
    else:
        optimizer.load_state_dict(state["optimizer"])
        best = state["best"]
    step = state["iter_num"]
journal.begin(step)
while step < STEPS:
    step += 1
    inputs, targets = batch(step)
    loss = torch.nn.functional.mse_loss(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % EVERY == 0:
        save(step, loss.item())
    journal.record(step, loss.item())
journal.final(journal.weigh(model.parameters()))
