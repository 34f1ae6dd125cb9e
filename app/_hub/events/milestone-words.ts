import { formatCount } from "#protocol/base/units.ts";
import type { EventKind } from "#protocol/base/event-kinds.ts";
import type { EventRow } from "#protocol/wire/views.ts";

/**
 * Announcements for screen readers: milestones, never progress. Up to two events are read one by one; more are counted, so
 * that thousands of nodes make one sentence.
 */

const COUNTED: Partial<Record<EventKind, readonly [one: string, many: string]>> = {
  "work-lost": ["node lost work", "nodes lost work"],
  "began-elsewhere": ["program began elsewhere", "programs began elsewhere"],
  "node-silent": ["node fell silent", "nodes fell silent"],
  "checkpoint-damaged": ["checkpoint is damaged", "checkpoints are damaged"],
  "restore-failed": ["restore failed", "restores failed"],
  "upload-failed": ["upload failed", "uploads failed"],
  "capture-refused": ["checkpoint was not captured", "checkpoints were not captured"],
  "restore-done": ["restore is done", "restores are done"],
  "node-back": ["node is back", "nodes are back"],
  "node-joined": ["node joined", "nodes joined"],
  "checkpoint-safe": ["checkpoint is safe", "checkpoints are safe"],
};
/** Worst first, because a listener may miss the end. */
const KINDS = Object.keys(COUNTED);
const ONE_BY_ONE = 2;

const sentence = (event: EventRow): string =>
  [event.nodeName, event.text].filter((part) => part !== null && part !== "").join(" ");

/** Returns one announcement for all events since the last one; null when none of them is a milestone. */
export function milestoneWords(events: readonly EventRow[]): string | null {
  const told = events.filter(({ kind }) => COUNTED[kind] !== undefined);
  if (told.length === 0) return null;
  const byKind = Object.groupBy(told, ({ kind }) => kind);
  if (told.length <= ONE_BY_ONE)
    return `${told
      .toSorted((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind))
      .map(sentence)
      .join(". ")}.`;
  return `${KINDS.flatMap((kind) => {
    const count = byKind[kind as EventKind]?.length ?? 0;
    const words = COUNTED[kind as EventKind];
    return count === 0 || words === undefined ? [] : [`${formatCount(count)} ${words[count === 1 ? 0 : 1]}`];
  }).join(", ")}.`;
}
