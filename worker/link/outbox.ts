import * as z from "zod";
import { nodeEvent, type NodeEvent, type NodeEventBody } from "#protocol/reports.ts";
import { openJournal } from "../engine/journal.ts";

/**
 * Events on their way to the hub. `add` resolves when the event is on disk; it is forgotten only when the hub says that
 * it has it. The numbers never start over, so the hub can tell a repetition from news.
 */
export interface Outbox {
  /** Faults: NO_SPACE, WRITE_FAILED. */
  add(event: NodeEventBody): Promise<void>;
  /** The oldest events that the hub does not have, at most 100. */
  next(): readonly NodeEvent[];
  /** The hub has everything up to this number. */
  accepted(through: number): Promise<void>;
  readonly size: number;
  /** Called after each `add`. */
  onAdd: (() => void) | null;
  close(): Promise<void>;
}

const line = z.discriminatedUnion("t", [
  z.object({ t: z.literal("event"), event: nodeEvent }),
  z.object({ t: z.literal("through"), seq: z.number() }),
]);

const BATCH = 100;
const COMPACT_AFTER_LINES = 500;

/** `now`: epoch ms. */
export async function openOutbox(path: string, now: () => number): Promise<Outbox> {
  const journal = await openJournal(path, line);
  let waiting: NodeEvent[] = [];
  let through = 0;
  let last = 0;
  const forget = (seq: number) => {
    through = Math.max(through, seq);
    last = Math.max(last, seq);
    waiting = waiting.filter((event) => event.seq > through);
  };
  for (const record of journal.records) {
    if (record.t === "through") forget(record.seq);
    else {
      last = Math.max(last, record.event.seq);
      waiting.push(record.event);
    }
  }
  const compact = () =>
    journal.compact(() => [
      { t: "through", seq: through },
      ...waiting.filter((event) => event.seq > through).map((event) => ({ t: "event" as const, event })),
    ]);
  let lines = journal.records.length;
  if (lines > COMPACT_AFTER_LINES) {
    await compact();
    lines = 0;
  }
  const outbox: Outbox = {
    onAdd: null,
    get size() {
      return waiting.length;
    },
    add: async (body) => {
      const event: NodeEvent = nodeEvent.parse({ ...body, seq: ++last, at: now() });
      waiting.push(event);
      await journal.append({ t: "event", event });
      lines++;
      outbox.onAdd?.();
    },
    next: () => waiting.slice(0, BATCH),
    accepted: async (seq) => {
      if (seq <= through) return;
      forget(seq);
      await journal.append({ t: "through", seq });
      if (++lines > COMPACT_AFTER_LINES) {
        lines = 0;
        await compact();
      }
    },
    close: journal.close,
  };
  return outbox;
}
