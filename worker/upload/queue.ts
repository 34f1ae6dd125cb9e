import { Fault, toFault } from "#protocol/faults/fault.ts";
import type { NodeStore } from "#protocol/wire/hello.ts";
import { jitter } from "../base/breaker.ts";
import type { WakeableSleep } from "../base/wakeable-sleep.ts";
import type { Capture } from "../capture/capture.ts";
import { nextToUpload, supersededAmong } from "../capture/ledger.ts";
import { isFatal } from "../hub-link/stream.ts";
import type { Engine } from "../transfer/engine.ts";
import type { Ahead } from "./ahead.ts";
import type { Endings } from "./end-upload.ts";
import type { Recovery } from "./recovery.ts";
import type { RefusedUploads } from "./retry-refused.ts";
import { isHopeless, type Settling } from "./settle-ended.ts";
import type { UploadState } from "./upload-state.ts";
import type { UploaderParts } from "./uploader-parts.ts";

const IDLE_MS = 10_000;
const DRAIN_LOOK_MS = 50;

/** Chooses which capture is sent next, and sends one after another. */
export interface UploadQueue {
  /** Sends until the signal fires. Faults: those that end this node. */
  run(): Promise<void>;
  /** Makes captures wait again that failed for a reason that may have passed. */
  retryFailed(): Promise<void>;
  /** From now on sends what is nearest to being safe first. Resolves when nothing is left that could be sent. */
  drain(): Promise<void>;
}

/** Parts of a queue. */
export interface QueueParts {
  parts: UploaderParts;
  state: UploadState;
  wakeable: WakeableSleep;
  ahead: Ahead;
  recovery: Recovery;
  endings: Endings;
  settling: Settling;
  refused: RefusedUploads;
  /** Captures that are sent and wait for the hub's commit, by id. */
  uncommitted: { has(id: string): boolean };
  /** Sends one capture to its end or its failure. */
  attempt(item: Capture, target: { engine: Engine; store: NodeStore }): Promise<void>;
}

/** Creates the queue. It sends nothing until `run` is called. */
export function createUploadQueue(about: QueueParts): UploadQueue {
  const { parts, state, wakeable } = about;
  const { ledger, clock, signal } = parts;
  return {
    run: async () => {
      while (!signal.aborted) {
        try {
          if ((await step(about)) === "idle") await wakeable.wait(IDLE_MS);
        } catch (error) {
          if (signal.aborted) return;
          if (isFatal(error)) throw error;
          const fault = toFault(error, { op: "upload" });
          await letRunningWait(about);
          state.waitingFor = fault;
          parts.onWaiting(fault);
          await wakeable.wait(500 + jitter(clock, ++state.tries));
        }
      }
    },
    retryFailed: async () => {
      for (const item of ledger.all()) {
        if (item.state !== "failed" || item.fault === null || isHopeless(item.fault.code)) continue;
        await ledger.move(item.id, "waiting", { by: "node", at: parts.wallNow() });
      }
    },
    drain: async () => {
      state.isDraining = true;
      await giveWay(about);
      wakeable.wake();
      const isLeft = () => ledger.all().some((item) => item.state === "waiting" || item.state === "running");
      while (isLeft() && !signal.aborted) {
        await clock.sleep(DRAIN_LOOK_MS, signal).catch(() => undefined);
        // A program that still runs may have saved something small meanwhile.
        await giveWay(about);
      }
    },
  };
}

/** Sends the capture that is next. Returns `idle` when there is none that could be sent. */
async function step(about: QueueParts): Promise<"again" | "idle"> {
  const { parts, state, ahead, recovery, endings } = about;
  const { ledger, hub } = parts;
  await about.settling.again();
  if (!state.isDraining) await about.refused.retry();
  const storeSession = parts.storeSession();
  if (storeSession === null) return "idle";
  const away = await ahead.announceAll();
  const announced = () => ledger.all().filter((item) => item.announced);
  for (const item of supersededAmong(announced())) await endings.end(item, "superseded", { by: "policy" });
  const order = state.isDraining ? "least left" : "oldest";
  const item = nextToUpload(
    announced().filter(({ id, run }) => !ledger.isHeld(run) && (hub.isUp || ahead.isReady(id))),
    order,
  );
  if (item === null) {
    if (away !== null) throw away;
    return "idle";
  }
  await ahead.settled(item.id);
  // A person may have paused or cancelled it meanwhile.
  if (item.state !== "waiting") return "again";
  // The bucket of the capture may have become unreachable since the announcement.
  const outOfReach = parts.homes?.isAway(item.run, item.home ?? storeSession.store.profileId) ?? null;
  if (outOfReach !== null && (await recovery.moveOn(item, outOfReach))) return "again";
  await about.attempt(item, parts.storeSession(item) ?? storeSession);
  return "again";
}

/** Makes captures wait again that an unexpected fault left as running. */
async function letRunningWait({ parts, uncommitted }: QueueParts): Promise<void> {
  for (const item of parts.ledger.all()) {
    if (item.state === "running" && !uncommitted.has(item.id))
      await parts.ledger.move(item.id, "waiting", { by: "node", at: parts.wallNow() });
  }
}

/** Interrupts the active capture for one that can be safe sooner. Parts that were sent stay sent. */
async function giveWay({ parts, state, uncommitted }: QueueParts): Promise<void> {
  const { ledger } = parts;
  const { active, stop } = state;
  if (active === null || stop === null) return;
  const left = active.capture.sizeBytes - (active.counters?.bytesSure ?? 0);
  const free = ledger.all().filter(({ run }) => !ledger.isHeld(run));
  const sooner = nextToUpload(free, "least left");
  if (sooner === null || sooner.sizeBytes >= left) return;
  stop.controller.abort(new Fault("CANCELLED"));
  await stop.ended;
  const { id } = active.capture;
  if (ledger.get(id)?.state === "running" && !uncommitted.has(id)) {
    await ledger.move(id, "waiting", { by: "node", at: parts.wallNow() });
  }
}
