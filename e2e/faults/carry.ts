import type { Socket } from "node:net";
import { createPacer } from "./pacer.ts";
import type { Random } from "./random.ts";
import type { Toxic } from "./toxics.ts";

/** A toxic at work on one direction of one connection. */
export interface ActiveToxic {
  readonly toxic: Toxic;
  /** Its rule is still there. */
  isArmed(): boolean;
  /** Called once, when it did something that can be seen. */
  hit(): void;
  /** Resolves when the rule is taken away. */
  readonly lifted: Promise<void>;
}

export interface Lane {
  readonly from: Socket;
  readonly to: Socket;
  readonly random: Random;
  toxics(): readonly ActiveToxic[];
  /** Resets both ends. */
  reset(): void;
  onBytes(count: number): void;
}

/** What may be under way inside the proxy because of latency, as the queue of a router. */
const MOST_QUEUED_BYTES = 4 * 1024 * 1024;

const sleep = (ms: number) =>
  new Promise<void>((resolve) => {
    setTimeout(resolve, ms);
  });

/** Carries the bytes of one direction until its end, through whatever toxics are armed meanwhile. Never throws. */
export async function carry(lane: Lane): Promise<void> {
  const { from, to } = lane;
  const queue = createQueue(to);
  const pace = createPacer({ now: () => performance.now(), sleep });
  let passed = 0;
  try {
    for await (const chunk of from) {
      let rest: Buffer = chunk;
      while (rest.length > 0) {
        const toxics = lane.toxics().filter((one) => one.isArmed());
        const { piece, due } = cutAt(rest, passed, toxics);
        rest = rest.subarray(piece.length);
        await deliver(lane, { piece, toxics, queue, pace });
        passed += piece.length;
        lane.onBytes(piece.length);
        if (due !== null && !(await strike(lane, due, { rest, queue }))) return;
        if (due?.toxic.kind === "flip") {
          rest = inverted(rest);
        }
      }
    }
    const close = lane.toxics().find((one) => one.toxic.kind === "slow-close" && one.isArmed());
    await queue.drained();
    if (close?.toxic.kind === "slow-close") {
      close.hit();
      await sleep(close.toxic.ms);
    }
    to.end();
  } catch {
    // One end broke: the other must not wait for it.
    to.destroy();
  }
}

type Thresholded = Extract<Toxic, { afterBytes: number }>;
const struck = new WeakSet<ActiveToxic>();
const thresholdOf = ({ toxic }: ActiveToxic): number | null => ("afterBytes" in toxic ? toxic.afterBytes : null);

/** The bytes before the next toxic that waits for an offset, and that toxic when it is reached. */
function cutAt(
  chunk: Buffer,
  passed: number,
  toxics: readonly ActiveToxic[],
): { piece: Buffer; due: ActiveToxic | null } {
  let due: ActiveToxic | null = null;
  let length = chunk.length;
  for (const one of toxics) {
    const threshold = thresholdOf(one);
    if (threshold === null || struck.has(one)) continue;
    const before = Math.max(0, threshold - passed);
    if (before < length || (before === length && due === null && before < chunk.length)) {
      length = before;
      due = one;
    }
  }
  return { piece: chunk.subarray(0, length), due };
}

/** Lets a toxic act; false when the connection is over. */
async function strike(
  lane: Lane,
  due: ActiveToxic,
  at: { rest: Buffer; queue: ReturnType<typeof createQueue> },
): Promise<boolean> {
  const toxic = due.toxic as Thresholded;
  if (toxic.kind !== "blackhole") struck.add(due);
  due.hit();
  switch (toxic.kind) {
    case "blackhole":
      await due.lifted;
      return true;
    case "reset-peer":
      await at.queue.drained();
      lane.reset();
      return false;
    case "limit-data":
      await at.queue.drained();
      lane.from.destroy();
      lane.to.end();
      return false;
    case "flip":
      return true;
  }
}

function inverted(rest: Buffer): Buffer {
  const copy = Buffer.from(rest);
  copy[0] = 255 - (rest[0] ?? 0);
  return copy;
}

async function deliver(
  lane: Lane,
  about: {
    piece: Buffer;
    toxics: readonly ActiveToxic[];
    queue: ReturnType<typeof createQueue>;
    pace: (busyMs: number) => Promise<void>;
  },
): Promise<void> {
  const { toxics, queue, pace } = about;
  let pieces = [about.piece];
  let laterMs = 0;
  for (const { toxic, hit } of toxics) {
    if (toxic.kind === "latency") {
      hit();
      laterMs += toxic.ms + lane.random.next() * (toxic.jitterMs ?? 0);
    }
    if (toxic.kind === "bandwidth") {
      hit();
      pieces = pieces.flatMap((piece) => slices(piece, Math.max(1024, Math.round(toxic.bytesPerSecond / 20))));
    }
    if (toxic.kind === "slicer") {
      hit();
      pieces = pieces.flatMap((piece) => slices(piece, toxic.pieceBytes));
    }
  }
  for (const piece of pieces) {
    if (piece.length === 0) continue;
    for (const { toxic } of toxics) {
      if (toxic.kind === "bandwidth") await pace((piece.length / toxic.bytesPerSecond) * 1000);
      if (toxic.kind === "slicer") await sleep(toxic.delayMs);
    }
    await queue.put(piece, laterMs);
  }
}

function slices(piece: Buffer, pieceBytes: number): Buffer[] {
  const cut: Buffer[] = [];
  for (let at = 0; at < piece.length; at += pieceBytes) cut.push(piece.subarray(at, at + pieceBytes));
  return cut;
}

/** Writes in order, each piece not before its time. */
function createQueue(to: Socket) {
  let queued = 0;
  let chain: Promise<void> = Promise.resolve();
  const write = (piece: Buffer) =>
    new Promise<void>((resolve) => {
      if (to.destroyed) resolve();
      else to.write(piece, () => resolve());
    });
  return {
    put: async (piece: Buffer, laterMs: number) => {
      if (laterMs === 0 && queued === 0) {
        await write(piece);
        return;
      }
      const dueAt = performance.now() + laterMs;
      queued += piece.length;
      chain = chain.then(async () => {
        const waitMs = dueAt - performance.now();
        if (waitMs > 0) await sleep(waitMs);
        await write(piece);
        queued -= piece.length;
      });
      if (queued > MOST_QUEUED_BYTES) await chain;
    },
    drained: () => chain,
  };
}
