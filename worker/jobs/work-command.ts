import type { AgentCommand } from "../agent/agent.ts";
import type { Environment } from "../base/environment.ts";
import type { Supervision } from "../supervise/supervise.ts";

/** Input of `tidemark work`, which takes one job of a queue after the other. */
export interface WorkCommand extends AgentCommand {
  env: Environment;
  out: Supervision["out"];
  err: Supervision["err"];
  /** Calls `listener` for every signal that the program should get. */
  onSignal(listener: (name: NodeJS.Signals) => void): void;
  /** Calls `act` when this process exits immediately, after a second signal or at the end of the grace period. */
  onEndAtOnce(act: () => void): void;
}
