import type { NodeState } from "../wire/views.ts";

/** What the program beside a worker said last. The text is a stranger's. */
export interface NodeWords {
  /** Null: no program runs beside this worker, it has its terminal to itself, or the node has not told yet. */
  text: string | null;
  /** When the node told it, epoch ms by the hub's clock; null when it never reported. */
  at: number | null;
  state: NodeState;
}
