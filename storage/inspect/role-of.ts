import type { TensorRole } from "#protocol/checkpoint/inspect.ts";

/** Files with training state beside the model, by the names that frameworks use. */
const STATE_FILE =
  /(^|\/)(optim|optimizer|scheduler|scaler|rng_state|random_states|training_args|(bf16_)?zero_pp_rank_\d+\w*_optim_states|distrib_optim)[^/]*$/i;
const STATE_NAME =
  /(^|[./])(optim|optimizer|optimizers|optimizer_states?|optim_state|opt_state|lr_scheduler|lr_schedulers|rng_state|rng|callbacks|loops)([./]|$)|(^|[./])(exp_avg|exp_avg_sq|momentum_buffer|max_exp_avg_sq)$/i;

/** Guesses the role of a tensor from the frameworks' names for files and tensors. */
export const roleOf = (path: string, name: string): TensorRole =>
  STATE_FILE.test(path) || STATE_NAME.test(name) ? "state" : "weights";
