import * as z from "zod";
import { nodeEvent, type NodeEvent, type NodeEventBody } from "#protocol/wire/reports.ts";
import { openJournal } from "../base/journal.ts";

/**
 * Journal of events for the hub. `add` resolves when the event is on disk; an event is deleted only after the hub has
 * acknowledged it. Sequence numbers never restart, so the hub recognizes repeated events. If this folder has lost the last
 * number, events wait until the hub tells the number at a hello, and are then renumbered.
 */
export interface Outbox {
  /** Adds an event, unless an unsent event says the same. @throws Fault NO_SPACE, WRITE_FAILED */
  add(event: NodeEventBody): Promise<void>;
  /** Returns the oldest unacknowledged events on disk, at most 100. They must not be sent before `isMet`. */
  next(): readonly NodeEvent[];
  /** Records that the hub has acknowledged everything up to this number. */
  accepted(through: number): Promise<void>;
  /** Does the same at a hello. Unsent events with numbers that the hub has already seen on other events are renumbered. */
  meet(through: number): Promise<void>;
  /** Whether the hub has told since the start of this process up to which number it has events. */
  readonly isMet: boolean;
  /** Called when there may be something to send: after each `add` and each `meet`. */
  onAdd: (() => void) | null;
  /** Called with each new event once it is on disk. */
  onEvent: ((event: NodeEventBody) => void) | null;
  close(): Promise<void>;
}

const line = z.discriminatedUnion("t", [
  z.object({ t: z.literal("event"), event: nodeEvent }),
  z.object({ t: z.literal("through"), seq: z.number() }),
]);

interface Waiting {
  event: NodeEvent;
  isOnDisk: boolean;
}

const BATCH = 100;
const COMPACT_AFTER_LINES = 500;

/** Opens the outbox. `now`: epoch ms. */
export async function openOutbox(path: string, now: () => number): Promise<Outbox> {
  const journal = await openJournal(path, line);
  let waiting: Waiting[] = [];
  /** Highest acknowledged number; null: this folder does not know it. */
  let through: number | null = null;
  let last = 0;
  const held = journal.takeRecords();
  let lines = held.length;
  const forget = (seq: number) => {
    through = Math.max(through ?? 0, seq);
    last = Math.max(last, seq);
    waiting = waiting.filter(({ event }) => event.seq > seq);
  };
  for (const record of held) {
    if (record.t === "through") forget(record.seq);
    else if (record.event.seq > last) {
      last = record.event.seq;
      waiting.push({ event: record.event, isOnDisk: true });
    }
  }
  /** Number from which on no event has been sent; the hub may have any event below it. */
  let firstUnsent = through === null ? 1 : last + 1;
  let isMet = false;
  const compact = async () => {
    lines = 0;
    await journal.compact(() => [
      ...(through === null ? [] : [{ t: "through" as const, seq: through }]),
      ...waiting.map(({ event }) => ({ t: "event" as const, event })),
    ]);
  };
  if (lines > COMPACT_AFTER_LINES) await compact();
  /** Returns the events before the first that is not on disk. A kill would lose that one, and its number would be reused. */
  const readyToGo = () => {
    const until = waiting.findIndex(({ isOnDisk }) => !isOnDisk);
    return until < 0 ? waiting : waiting.slice(0, until);
  };
  const accepted = async (seq: number) => {
    if (through !== null && seq <= through) return;
    forget(seq);
    await journal.append({ t: "through", seq });
    if (++lines > COMPACT_AFTER_LINES) await compact();
  };
  const outbox: Outbox = {
    onAdd: null,
    onEvent: null,
    get isMet() {
      return isMet;
    },
    add: async (body) => {
      const hasIt = waiting.some(
        ({ event, isOnDisk }) => isOnDisk && event.seq >= firstUnsent && saysSame(event, body),
      );
      if (hasIt) return;
      const item: Waiting = { event: nodeEvent.parse({ ...body, seq: ++last, at: now() }), isOnDisk: false };
      waiting.push(item);
      try {
        await journal.append({ t: "event", event: item.event });
      } catch (error) {
        waiting = waiting.filter((other) => other !== item);
        throw error;
      }
      item.isOnDisk = true;
      lines++;
      outbox.onAdd?.();
      outbox.onEvent?.(body);
    },
    next: () => {
      const events = readyToGo()
        .slice(0, BATCH)
        .map(({ event }) => event);
      firstUnsent = Math.max(firstUnsent, (events.at(-1)?.seq ?? 0) + 1);
      return events;
    },
    accepted,
    meet: async (seq) => {
      const unsent = waiting.filter(({ event }) => event.seq >= firstUnsent);
      const isTaken = unsent.some(({ event }) => event.seq <= seq);
      if (isTaken) {
        last = Math.max(last, seq);
        for (const item of unsent) item.event = { ...item.event, seq: ++last };
        firstUnsent = Math.max(firstUnsent, seq + 1);
        forget(seq);
        await compact();
      } else await accepted(seq);
      isMet = true;
      outbox.onAdd?.();
    },
    close: journal.close,
  };
  return outbox;
}

/** Tells whether two events say the same: a capture that keeps failing must not fill the outbox while the hub is away. */
const saysSame = (event: NodeEvent, body: NodeEventBody): boolean =>
  event.type === "capture-refused" &&
  body.type === "capture-refused" &&
  event.run === body.run &&
  // A refusal at the program's end has another `op` than one while the program runs, and both are reported.
  event.fault.op === body.fault.op &&
  event.fault.code === body.fault.code;
