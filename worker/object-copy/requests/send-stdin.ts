import { Fault } from "#protocol/faults/fault.ts";
import type { StoreTraits } from "#protocol/wire/operations.ts";
import { formatBytes, formatDuration, formatRate } from "#protocol/base/units.ts";
import { sendStream } from "#worker/transfer/upload/send-stream.ts";
import type { Input } from "#worker/command-line/read-input.ts";
import { withStoreSession, type StoreSession } from "#worker/store-session/store-session.ts";
import { sweepUploads } from "./sweep-uploads.ts";
import {
  shownName,
  shownPlace,
  usage,
  type StorePlace,
  type CommandContext,
} from "#worker/command-line/command-context.ts";

/**
 * Implements `cp - s3://bucket/key`: the input has an unknown length and can be read only once. Therefore parts are held in
 * memory until the store has acknowledged them, and a killed upload cannot be resumed. Memory is the number of parts in
 * flight times the part size; --memory limits it, and it is reported at the start. A signal or a failing input aborts the
 * multipart upload, so no object appears. The size of the complete object is checked.
 */

const MIB = 1024 * 1024;
/** Number of parts in flight for which the memory is divided when --concurrency is not given. */
const USUAL_PARTS = 10;
/** Room for a part that fills while others are in flight, and for the buffers of connections. */
const SPARE_PARTS = 2;
const BUFFER_BYTES = MIB;
/** Share of the budget for parts and buffers; the rest covers other memory of the program. */
const FILLED_SHARE = 15 / 16;
/** Smaller parts would limit the length of the input too much, because S3 allows 10,000 parts. */
const LEAST_PART_BYTES = 5 * MIB;
const LARGEST_PART_BYTES = 16 * MIB;

export interface InputPlan {
  partBytes: number;
  partsAtATime: number;
  /** The longest input that fits. */
  mostBytes: number;
  memoryBytes: number;
}

/**
 * Plans the parts for an input of unknown length within a memory budget. `connections`: null where the engine chooses them.
 * @throws Fault BAD_INPUT when the budget is too small for one part in flight and one that fills.
 */
export function planInput(about: {
  traits: StoreTraits;
  memoryBytes: number;
  connections: number | null;
  requestedPartBytes: number | null;
}): InputPlan {
  const { traits, memoryBytes, connections, requestedPartBytes } = about;
  const share = Math.floor(memoryBytes / ((connections ?? USUAL_PARTS) + SPARE_PARTS) / MIB) * MIB;
  const least = Math.max(traits.minPartBytes, LEAST_PART_BYTES);
  const requested = requestedPartBytes ?? Math.min(Math.max(share, least), Math.max(LARGEST_PART_BYTES, least));
  const partBytes = Math.min(Math.max(requested, least), traits.maxPartBytes);
  if (memoryBytes < 2 * partBytes) {
    const parts = formatBytes(partBytes);
    throw usage(
      `--memory ${formatBytes(memoryBytes)}`,
      `parts of ${parts} from stdin need at least ${formatBytes(2 * partBytes)}: one fills while another is sent`,
    );
  }
  const fit = Math.max(1, Math.floor((memoryBytes * FILLED_SHARE - partBytes) / (partBytes + BUFFER_BYTES)));
  const partsAtATime = Math.min(connections ?? traits.mostConnections, fit);
  return {
    partBytes,
    partsAtATime,
    mostBytes: partBytes * Math.min(traits.maxParts, 10_000),
    memoryBytes: Math.min(memoryBytes, partBytes + partsAtATime * (partBytes + BUFFER_BYTES)),
  };
}

/** A source that can be read once: stdin, a pipe, a device. */
export interface Stream {
  /** Name in messages. */
  name: string;
  /** Operand on the command line. */
  from: string;
  open(): Input | Promise<Input>;
}

/** Returns stdin as a source. */
export const stdinOf = (context: CommandContext): Stream => ({ name: "stdin", from: "-", open: () => context.input() });

/** Refuses a destination without a whole key: a stream has no name of its own. @throws Fault BAD_INPUT */
export function assertWholeKey(to: StorePlace, { name }: Stream): void {
  if (to.key === "" || to.key.endsWith("/")) throw usage(shownPlace(to), `${name} has no name: give the whole key`);
}

/** Sends a stream to a key. @throws Fault BAD_INPUT, TOO_LARGE, READ_FAILED, SIZE_MISMATCH, those of the store, CANCELLED */
export async function sendInput(context: CommandContext, about: { to: StorePlace; stream: Stream }): Promise<number> {
  const { config, terminal } = context;
  const { to, stream } = about;
  const { name, from } = stream;
  assertWholeKey(to, stream);
  const input = await stream.open();
  if (input.isTTY === true) throw usage(from, `${name} is a terminal; pipe something into it`);
  return withStoreSession(context, { bucket: to.bucket, direction: "up", isHeld: true }, async (storeSession) => {
    const plan = planInput({
      traits: storeSession.access.traits,
      memoryBytes: config.size("memory") ?? 0,
      connections: config.count("concurrency") || null,
      requestedPartBytes: config.size("part-size"),
    });
    const place = shownName(shownPlace(to));
    const parts = `${plan.partsAtATime} ${plan.partsAtATime === 1 ? "part" : "parts"} of ${formatBytes(plan.partBytes)}`;
    terminal.say(
      `${name} -> ${place}: up to ${parts} at a time, so at most ${formatBytes(plan.memoryBytes)} of memory, for an input of at most ${formatBytes(plan.mostBytes)}`,
      { type: "started", from, to: shownPlace(to), ...plan },
    );
    const startedAt = performance.now();
    const bytes = await send(context, { storeSession, to, plan, input, stream });
    const tookMs = performance.now() - startedAt;
    const rate = formatRate(bytes / Math.max(0.001, tookMs / 1000), "bytes");
    terminal.result(`${name} -> ${place}: ${formatBytes(bytes)} in ${formatDuration(tookMs)}, ${rate}, verified`, {
      type: "done",
      from,
      to: shownPlace(to),
      bytes,
      sentBytes: bytes,
      files: 1,
      filesFailed: 0,
      tookMs: Math.round(tookMs),
    });
    return 0;
  });
}

/** Sends the input and returns the size of the object. */
function send(
  context: CommandContext,
  sending: { storeSession: StoreSession; to: StorePlace; plan: InputPlan; input: Input; stream: Stream },
): Promise<number> {
  const { storeSession, to, plan, input } = sending;
  const { name, from } = sending.stream;
  const { terminal, signal } = context;
  const { meter } = storeSession.engine;
  const place = shownName(shownPlace(to));
  let [readBytes, movedBytes] = [0, 0];
  const draw = () => {
    terminal.draw(
      () => [`${name} -> ${place}, ${formatBytes(movedBytes)}, ${formatRate(meter.bytesPerSecond(), "bytes")}`],
      () => ({
        type: "progress",
        from,
        to: shownPlace(to),
        bytesDone: movedBytes,
        bytesPerSecond: Math.round(meter.bytesPerSecond()),
      }),
    );
  };
  return sendStream(storeSession.engine, {
    subject: name,
    key: to.key,
    input,
    partBytes: plan.partBytes,
    partsAtATime: plan.partsAtATime,
    onRead: (bytes) => {
      readBytes += bytes;
      if (readBytes <= plan.mostBytes) return;
      const detail = `more than ${formatBytes(plan.mostBytes)} came in; give a larger --part-size (and --memory)`;
      throw new Fault("TOO_LARGE", { op: "cp", subject: name, detail });
    },
    onMoved: (bytes) => {
      movedBytes += bytes;
      draw();
    },
    sweep: (lost) => sweepUploads(storeSession, { ...lost, signal }),
    signal,
  });
}
