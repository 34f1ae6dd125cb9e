import { JOINING } from "./command-groups.ts";
import type { FlagSpec } from "./flag-spec.ts";

/** Flags about capturing: when a checkpoint in a watched folder is finished, and how much disk space captures may take. */
export const CAPTURE_FLAGS = {
  settle: {
    kind: "duration",
    commands: JOINING,
    value: "TIME",
    default: "2s",
    says: "A checkpoint is finished when nothing in it changed for this long.",
  },
  "unfinished-after": {
    kind: "duration",
    commands: JOINING,
    value: "TIME",
    default: "5m",
    notZero: "a checkpoint that is being written looks unfinished",
    says: "A checkpoint that looks unfinished (a file that its index names is missing) and has not changed for this long is kept safe as doubtful, with the reason. Nothing goes on from a doubtful one by itself; --from STEP does.",
  },
  nodes: {
    kind: "number",
    commands: ["agent", "run"],
    value: "N",
    says: "So many nodes write the run together, each the pieces on its own disk (FSDP, PyTorch DCP, DeepSpeed). The hub joins the pieces of a step; every node is given the same --run and --nodes.",
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
    says: "Most of the disk that captures may take until they are safe, linked ones included; half of what is free when left out. Newer ones push waiting older ones out.",
  },
} as const satisfies Record<string, FlagSpec>;
