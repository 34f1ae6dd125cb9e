import { sentenceOf } from "#protocol/faults/fault.ts";
import { commandWords } from "#protocol/wire/command-words.ts";
import type { CommandRow } from "#protocol/wire/send-command.ts";
import type { Tone } from "../_ui/indicators/mark.tsx";

/** Wording of commands to nodes. */

const KIND_WORDS: Record<string, string> = {
  restore: "restore a checkpoint",
  cancel: "cancel a transfer",
  pause: "pause a transfer",
  resume: "resume a transfer",
  retry: "retry a transfer",
};

/** Returns the title of a command, such as `Hold uploads of llama`. */
export function commandTitle(row: CommandRow, rate: (bytesPerSecond: number) => string): string {
  const words = row.order === null ? (KIND_WORDS[row.kind] ?? row.kind) : commandWords(row.order, rate);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Returns word and tone of a command's state. */
export function commandState(row: CommandRow): { tone: Tone; text: string } {
  switch (row.state) {
    case "sent":
      return { tone: "quiet", text: "waits for the node" };
    case "accepted":
      return { tone: "moving", text: "under way" };
    case "done":
      return { tone: "safe", text: "done" };
    case "failed":
      return { tone: "lost", text: "failed" };
    case "cancelled":
      return { tone: "quiet", text: "taken back" };
    case "expired":
      return { tone: "risk", text: "expired" };
  }
}

const RATES = new Set(["up", "down"]);

/** Returns the result of a command: its fault, or the facts that the node reported; null without any. */
export function commandResult(row: CommandRow, rate: (bytesPerSecond: number) => string): string | null {
  if (row.fault !== null) return sentenceOf(row.fault);
  const facts = Object.entries(row.detail ?? {}).filter(([, value]) => value !== null && value !== false);
  if (facts.length === 0) return null;
  const shown = (key: string, value: string | number | boolean | null): string => {
    if (typeof value === "number" && RATES.has(key)) return `${key} ${rate(value)}`;
    if (typeof value === "number" && key.endsWith("Ms")) return `${key.slice(0, -2)} ${Math.round(value)} ms`;
    return value === true ? key : `${key} ${String(value)}`;
  };
  return facts.map(([key, value]) => shown(key, value)).join(", ");
}
