"""Orbax' CheckpointManager over a flax model: FOLDER VARIANT (`plain`: all options by default, `best`: the best two by loss)."""

import sys

import jax
import jax.numpy as jnp
import journal
import optax
import orbax.checkpoint as ocp
from flax import linen

FOLDER, VARIANT = sys.argv[1:3]
STEPS, EVERY = 40, 10


class Model(linen.Module):
    @linen.compact
    def __call__(self, inputs):
        return linen.Dense(1)(linen.tanh(linen.Dense(16)(inputs)))


model, optimizer = Model(), optax.adamw(0.01)
parameters = model.init(jax.random.key(0), jnp.ones((1, 8)))
state = {"parameters": parameters, "optimizer": optimizer.init(parameters), "step": 0}


@jax.jit
def train(parameters, optimizer_state, inputs):
    def measure(parameters):
        return jnp.mean((model.apply(parameters, inputs) - jnp.sin(inputs.sum(axis=1, keepdims=True))) ** 2)

    loss, gradients = jax.value_and_grad(measure)(parameters)
    updates, optimizer_state = optimizer.update(gradients, optimizer_state, parameters)
    return optax.apply_updates(parameters, updates), optimizer_state, loss


def options():
    if VARIANT == "plain":
        return ocp.CheckpointManagerOptions(save_interval_steps=EVERY)
    return ocp.CheckpointManagerOptions(
        save_interval_steps=EVERY, max_to_keep=2, best_fn=lambda metrics: metrics["distance"], best_mode="min"
    )


with ocp.CheckpointManager(FOLDER, options=options()) as manager:
    latest = manager.latest_step()
    if latest is not None:
        state = manager.restore(latest, args=ocp.args.StandardRestore(state))
    step = int(state["step"])
    journal.begin(step)
    while step < STEPS:
        step += 1
        inputs = jax.random.normal(jax.random.key(step), (16, 8))
        new, optimizer_state, loss = train(state["parameters"], state["optimizer"], inputs)
        state = {"parameters": new, "optimizer": optimizer_state, "step": step}
        # The best two are step 20 and the newest.
        metrics = None if VARIANT == "plain" else {"distance": 0.0 if step == 20 else 100.0 - step}
        manager.save(step, args=ocp.args.StandardSave(state), metrics=metrics)
        journal.record(step, float(loss))
    manager.wait_until_finished()
journal.final(sum(float(jnp.abs(one).sum()) * (at + 1) for at, one in enumerate(jax.tree.leaves(state["parameters"]))))
