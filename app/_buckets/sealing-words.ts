import { formatCount } from "#protocol/base/units.ts";
import type { Sealing } from "#protocol/checkpoint/sealing.ts";

/** Wording of encryption. */

export const SEALING_STATES: Readonly<Record<Sealing, string>> = {
  off: "Encryption is off: checkpoints are stored as they are.",
  content: "Encryption is on: new checkpoints open with their key only. Names of files can be read.",
  names: "Encryption is on: new checkpoints open with their key only, and names of files are hidden.",
};

export const SEALING_CHOICES = [
  { value: "off", label: "stored as they are" },
  { value: "content", label: "encrypted", note: "names of files can be read in the bucket" },
  { value: "names", label: "encrypted, names too", note: "other tools see only numbers" },
];

export const checkpointsWords = (count: number): string =>
  `${formatCount(count)} ${count === 1 ? "checkpoint" : "checkpoints"}`;
