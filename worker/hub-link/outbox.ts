import * as z from "zod";
import { nodeEvent, type NodeEvent, type NodeEventBody } from "#protocol/wire/reports.ts";
import { openJournal } from "../base/journal.ts";

/**
 * Events on their way to the hub. `add` resolves when the event is on disk; it is forgotten only when the hub says that
 * it has it. The numbers never start over, so the hub can tell a repetition from news. Where this folder forgot how far they
 * had come, events wait for the hub to say it, and get new ones.
 */
export interface Outbox {
  /** One that says what another says that the hub has yet to hear is left out. Faults: NO_SPACE, WRITE_FAILED. */
  add(event: NodeEventBody): Promise<void>;
  /** The oldest events on disk that the hub does not have, at most 100. Not to be sent before `isMet`. */
  next(): readonly NodeEvent[];
  /** The hub has everything up to this number. */
  accepted(through: number): Promise<void>;
  /** At a hello: `accepted`, and events with numbers that the hub took for others are numbered again. */
  meet(through: number): Promise<void>;
  /** The hub has said in this boot how far it is. */
  readonly isMet: boolean;
  /** Called when there may be something to send: after each `add` and each `meet`. */
  onAdd: (() => void) | null;
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

/** `now`: epoch ms. */
export async function openOutbox(path: string, now: () => number): Promise<Outbox> {
  const journal = await openJournal(path, line);
  let waiting: Waiting[] = [];
  /** Null: nothing in this folder says how far the numbers had come. */
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
  /** The hub may have everything below; what follows it cannot have. */
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
  /** Whatever is not on disk may get lost, and its number be used again: it waits, and all that follows it. */
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

/** A folder that cannot be captured is tried again for as long as it is there, and the hub may be away for as long. */
const saysSame = (event: NodeEvent, body: NodeEventBody): boolean =>
  event.type === "capture-refused" &&
  body.type === "capture-refused" &&
  event.run === body.run &&
  // The end of a program is other news than a file that was not taken while it ran.
  event.fault.op === body.fault.op &&
  event.fault.code === body.fault.code;
