import type { FlagSpec } from "./flag-spec.ts";

/** Flags about restoring and about which paths of the disk may be read or written; part of `FLAGS`. */
export const RESTORE_FLAGS = {
  "restore-to": {
    kind: "list",
    commands: ["agent", "run"],
    value: "DIR",
    says: "The hub may have checkpoints put inside this folder; may be given several times. When left out: inside of the watched folders, in folders beside them, and in ./restored. Beside a folder that lies straight in /, in /var or in a home nothing is allowed, and nothing below a name that begins with a dot.",
  },
  "follow-links": {
    kind: "switch",
    commands: ["agent", "run"],
    says: "Take checkpoints through links that leave the watched folder, whatever they lead to. When left out: only to what the owner of the watched folder owns, so that a program of another user cannot have files of the worker's user uploaded.",
  },
  only: {
    kind: "list",
    commands: ["restore"],
    value: "GLOB",
    says: "Only the files that the glob fits, such as '*.safetensors'; may be given several times. The folder must not hold anything else.",
  },
  rank: {
    kind: "text",
    commands: ["restore"],
    value: "R/N",
    says: "Only what rank R of N loads, counted from 0: its own shards and what all ranks share. Refused where the files do not tell whose they are.",
  },
  tensors: {
    kind: "list",
    commands: ["restore"],
    value: "PATTERN",
    says: "Only the tensors of its safetensors files whose names fit, such as 'model.embed_tokens.*' or 'model.layers.0.' for all below; may be given several times. Each file is cut to them and stays a safetensors file; other files are not taken.",
  },
  "no-fallback": {
    kind: "switch",
    commands: ["restore"],
    says: "When the newest checkpoint is damaged, end with 6 rather than take the one before it.",
  },
} as const satisfies Record<string, FlagSpec>;
