import type { FlagSpec } from "./flag-spec.ts";

/** Flags about restoring and about which paths of the disk may be read or written; part of `FLAGS`. */
export const RESTORE_FLAGS = {
  "restore-to": {
    kind: "list",
    commands: ["agent", "run"],
    value: "DIR",
    says: "Folder in which the hub may restore checkpoints. May be given several times. Default: the watched folders, folders beside them, and ./restored. Folders beside one that is directly in /, in /var or in a home folder are not allowed, nor any below a name that begins with a dot.",
  },
  "follow-links": {
    kind: "switch",
    commands: ["agent", "run"],
    says: "Follow links that leave the watched folder to any target. Default: only to files of the owner of the watched folder, so that a program of another user cannot make the worker upload files of the worker's user.",
  },
  only: {
    kind: "list",
    commands: ["restore"],
    value: "GLOB",
    says: "Restore only files that match the glob, such as '*.safetensors'. May be given several times. The folder must contain nothing else.",
  },
  rank: {
    kind: "text",
    commands: ["restore"],
    value: "R/N",
    says: "Restore only the files that rank R of N loads, counted from 0: its own shards and the files that all ranks share. Refused when the files do not show their ranks.",
  },
  tensors: {
    kind: "list",
    commands: ["restore"],
    value: "PATTERN",
    says: "Restore only tensors of safetensors files whose names match, such as 'model.embed_tokens.*', or 'model.layers.0.' for all below. May be given several times. Each file becomes a smaller safetensors file; other files are skipped.",
  },
  "no-fallback": {
    kind: "switch",
    commands: ["restore"],
    says: "When the newest checkpoint is damaged, end with 6 instead of restoring the one before it.",
  },
} as const satisfies Record<string, FlagSpec>;
