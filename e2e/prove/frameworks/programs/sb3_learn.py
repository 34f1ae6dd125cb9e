"""stable-baselines3's CheckpointCallback: FOLDER VARIANT. `ppo`: the defaults. `buffer`: SAC with its replay buffer and VecNormalize."""

import glob
import os
import re
import sys

import journal
import numpy
from stable_baselines3 import PPO, SAC
from stable_baselines3.common.callbacks import BaseCallback, CheckpointCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize

FOLDER, VARIANT = sys.argv[1:3]
STEPS, EVERY = (256, 64) if VARIANT == "ppo" else (80, 20)


class Journal(BaseCallback):
    """Writes the weight of the policy at each step; the losses of a policy follow from it."""

    def _on_step(self):
        weight = journal.weigh(self.model.policy.parameters())
        journal.record(self.num_timesteps, weight)
        return True


found = max(
    glob.glob(os.path.join(FOLDER, "rl_model_*_steps.zip")),
    key=lambda path: int(re.findall(r"(\d+)_steps", path)[-1]),
    default=None,
)
env = make_vec_env("Pendulum-v1", n_envs=1, seed=0)
if VARIANT == "ppo":
    saver = CheckpointCallback(save_freq=EVERY, save_path=FOLDER)
    if found is None:
        model = PPO("MlpPolicy", env, n_steps=32, batch_size=32, n_epochs=2, seed=0, device="cpu")
    else:
        model = PPO.load(found, env=env, device="cpu")
else:
    saver = CheckpointCallback(save_freq=EVERY, save_path=FOLDER, save_replay_buffer=True, save_vecnormalize=True)
    if found is None:
        env = VecNormalize(env)
        model = SAC("MlpPolicy", env, seed=0, learning_starts=10, buffer_size=1000, batch_size=16, device="cpu",
                    policy_kwargs={"net_arch": [16]})  # fmt: skip
    else:
        at = re.findall(r"(\d+)_steps", found)[-1]
        env = VecNormalize.load(os.path.join(FOLDER, f"rl_model_vecnormalize_{at}_steps.pkl"), env)
        model = SAC.load(found, env=env, device="cpu")
        model.load_replay_buffer(os.path.join(FOLDER, f"rl_model_replay_buffer_{at}_steps.pkl"))
# Random numbers are no part of its checkpoints.
model.set_random_seed(model.num_timesteps)
numpy.random.seed(model.num_timesteps)
journal.begin(model.num_timesteps)
model.learn(STEPS - model.num_timesteps, callback=[saver, Journal()], reset_num_timesteps=False)
journal.final(journal.weigh(model.policy.parameters()))
