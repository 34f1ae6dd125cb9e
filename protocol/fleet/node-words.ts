import type { NodeState } from "../wire/views.ts";

/** Last output of the program beside a worker. The text is untrusted. */
export interface NodeWords {
  /** Null: no program runs beside this worker, the program owns the terminal, or the node has not reported output yet. */
  text: string | null;
  /** Time at which the node reported it, epoch ms by the hub's clock; null when it never did. */
  at: number | null;
  state: NodeState;
}
