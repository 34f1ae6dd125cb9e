import { JOINING } from "./command-groups.ts";
import type { FlagSpec } from "./flag-spec.ts";

/** Flags about capturing: when a checkpoint in a watched folder is finished, and how much disk space captures may take. */
export const CAPTURE_FLAGS = {
  settle: {
    kind: "duration",
    commands: JOINING,
    value: "TIME",
    default: "2s",
    says: "Time without a change after which a checkpoint counts as finished.",
  },
  "unfinished-after": {
    kind: "duration",
    commands: JOINING,
    value: "TIME",
    default: "5m",
    notZero: "a checkpoint that is being written looks unfinished",
    says: "A checkpoint that looks unfinished (a file that its index names is missing) and has not changed for this long is stored as doubtful, with the reason. No program continues from a doubtful checkpoint by itself; --from STEP does.",
  },
  nodes: {
    kind: "number",
    commands: ["agent", "run"],
    value: "N",
    says: "Number of nodes that write the run together, each with pieces on its own disk (FSDP, PyTorch DCP, DeepSpeed). The hub joins the pieces of a step. Give every node the same --run and --nodes.",
  },
  "node-rank": {
    kind: "number",
    commands: ["agent", "run"],
    value: "N",
    says: "Which of the --nodes this one is, counted from 0, as torchrun's --node-rank.",
  },
  "disk-budget": {
    kind: "size",
    commands: JOINING,
    value: "SIZE",
    notZero: "captures need some room",
    says: "Most disk space for captures that are not safe yet, including linked ones. Newer captures replace older waiting ones. Default: half of the free space.",
  },
} as const satisfies Record<string, FlagSpec>;
