"""FSDP2 and torch.distributed.checkpoint under torchrun: FOLDER VARIANT (`plain` or `async`). Writes `step_10/`."""

import glob
import os
import re
import sys

import journal
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

FOLDER, VARIANT = sys.argv[1:3]
STEPS, EVERY = 40, 10
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
fully_shard(model, mesh=init_device_mesh("cpu", (world,)))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)


def find():
    done = [path for path in glob.glob(os.path.join(FOLDER, "step_*")) if os.path.exists(os.path.join(path, ".metadata"))]
    return max(done, key=lambda path: int(re.findall(r"\d+", os.path.basename(path))[-1]), default=None)


step, found, pending = 0, find(), None
# Saves in the background must not share a group with the steps that go on.
group = dist.new_group(backend="gloo") if VARIANT == "async" else None
if found is not None:
    model_state, optimizer_state = get_state_dict(model, optimizer)
    state = {"model": model_state, "optimizer": optimizer_state, "step": 0}
    dcp.load(state, checkpoint_id=found)
    set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
    step = state["step"]
if rank == 0:
    journal.begin(step)
while step < STEPS:
    step += 1
    random = torch.Generator().manual_seed(step * world + rank)
    inputs = torch.randn(8, 8, generator=random)
    loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True).sin())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % EVERY == 0:
        model_state, optimizer_state = get_state_dict(model, optimizer)
        state = {"model": model_state, "optimizer": optimizer_state, "step": step}
        place = os.path.join(FOLDER, f"step_{step}")
        if VARIANT == "async":
            if pending is not None:
                pending.result()
            pending = dcp.async_save(state, checkpoint_id=place, process_group=group)
        else:
            dcp.save(state, checkpoint_id=place)
    total = loss.detach().clone()
    dist.all_reduce(total)
    if rank == 0:
        journal.record(step, float(total) / world)
if pending is not None:
    pending.result()
dist.barrier()
weight = journal.weigh(one.full_tensor() for one in model.parameters())
if rank == 0:
    journal.final(weight)
# The threads of background saves end with the process, not before.
sys.stdout.flush()
os._exit(0)
