import type { FlagSpec } from "./flag-spec.ts";

/** Flags of `tidemark run`: from which checkpoint the program starts, and whether it is restarted. */
export const RUN_FLAGS = {
  from: {
    kind: "text",
    commands: ["run"],
    value: "STEP|latest-complete|none",
    words: ["latest-complete", "none"],
    orNumber: true,
    says: "Start from this step, from the newest complete checkpoint in the bucket (also when a newer one is on this disk), or from the beginning. It opens a new epoch: newer checkpoints stay in the bucket and are not the newest any more. A step and none take effect once: a later start with the same value goes on from what was written since. latest-complete takes effect at every start. When left out: the newest complete checkpoint, here or in the bucket.",
  },
  restore: {
    kind: "text",
    commands: ["run", "work"],
    value: "newest|named|kept",
    default: "named",
    words: ["newest", "named", "kept"],
    says: "What to restore on a machine that has not got it. newest: the newest checkpoint. named: also those that its state names (the best one of transformers, the top k of Lightning, the best of Orbax), which frameworks load or rotate later. kept: also all others that are kept in the bucket of this line of the run, the newest first, as long as the disk has room for them and for what the program writes next. The program starts when the newest is there, and after 10 s at most the others follow behind it.",
  },
  "require-safe": {
    kind: "switch",
    commands: ["run"],
    says: "End with 9 when the program ended with 0 and not all that it wrote to the watched folders is safe: something waits or was refused, the last checkpoint or final model may not be whole, or with --nodes the pieces of other nodes have not come within a minute.",
  },
  orphan: {
    kind: "text",
    commands: ["run"],
    value: "end|wait|refuse",
    default: "end",
    words: ["end", "wait", "refuse"],
    says: "A program whose worker was killed. end: it ends with its worker, and a start that still finds it sends TERM, and KILL after --grace. wait: it goes on, and the next start keeps its checkpoints safe and waits until it ends. refuse: it goes on, and the next start ends with an error. Two programs never write one run.",
  },
  user: {
    kind: "text",
    commands: ["run", "work"],
    value: "USER",
    says: "Start the program as this user, by name or number, with its groups and its HOME. It then cannot read the node's credential in the state folder, nor the memory of this worker. Needs root and setpriv (util-linux). Default: the user of this worker.",
  },
  restart: {
    kind: "text",
    commands: ["run"],
    value: "POLICY",
    default: "no",
    words: ["no", "on-failure", "on-failure:5"],
    says: "Start the program again when it fails: no, on-failure, or on-failure:5 for at most five times in a row. Each time it continues from its newest complete checkpoint.",
  },
} as const satisfies Record<string, FlagSpec>;
