import { randomUUID } from "node:crypto";
import { Fault } from "#protocol/faults/fault.ts";
import type { ClaimAnswer } from "#protocol/wire/hello.ts";
import { createWakeableSleep } from "../base/wakeable-sleep.ts";
import type { Capture } from "../capture/capture.ts";
import { newAttempt } from "../capture/snapshot.ts";
import { waitOf, type Copier, type CopierParts, type CopyState } from "./copier-parts.ts";
import { attemptCopy, LOOK_MS, type Copying } from "./copy-attempt.ts";
import type { CopyItem } from "./copy-ledger.ts";
import { copyProgress, endCopy } from "./report-copy.ts";

const IDLE_MS = 5_000;

/** Creates the queue of copies. `copy-attempt.ts` sends one of them, `report-copy.ts` tells the hub of it. */
export function createCopier(parts: CopierParts): Copier {
  const { ledger, hub, clock, signal } = parts;
  const wakeable = createWakeableSleep(clock, signal);
  const state: CopyState = { active: null, waits: new Map() };
  const copying: Copying = { parts, state };
  return {
    wake: wakeable.wake,
    get isActive() {
      return state.active !== null;
    },
    has: (transferId) => ledger.all().some(({ capture }) => capture.transferId === transferId),
    keep: async (item, claim) => {
      const home = item.home ?? parts.own()?.profileId ?? "";
      const owed = parts.homes.owed(item.run, home).filter((profileId) => !ledger.has(item.id, profileId));
      if (owed.length === 0 || claim === null || claim.epoch !== item.epoch)
        return ledger.all().some(({ capture }) => capture.folder === item.folder);
      await ledger.take(copiesOf(item, { owed, claim, takenAt: parts.wallNow() }));
      wakeable.wake();
      return true;
    },
    spare: () => {
      const moving = state.active?.item.capture.folder;
      const byFolder = new Map(ledger.all().map(({ capture }) => [capture.folder, capture]));
      return [...byFolder.values()].filter(({ folder }) => folder !== moving);
    },
    passOver: async (captures) => {
      const folders = new Set(captures.map(({ folder }) => folder));
      for (const item of ledger.all()) {
        if (folders.has(item.capture.folder))
          await endCopy(copying, item, { state: "superseded", fault: null, active: null });
      }
    },
    steer: async (transferId, action) => {
      const item = ledger.all().find(({ capture }) => capture.transferId === transferId);
      if (item === undefined) throw new Fault("NOT_FOUND", { op: action, subject: transferId });
      if (state.active?.item.capture.transferId === transferId) {
        const { stop, ended } = state.active;
        stop.abort(new Fault("CANCELLED"));
        await ended;
      }
      if (action === "cancel") {
        const fault = new Fault("CANCELLED").toData();
        await endCopy(copying, item, { state: "cancelled", fault, active: null });
      } else await ledger.setPaused(item, action === "pause");
      state.waits.delete(transferId);
      wakeable.wake();
    },
    run: async () => {
      while (!signal.aborted) {
        await passOverOlder(copying);
        const item = parts.isBusy() || !hub.isUp ? null : nextCopy(copying);
        if (item === null) await wakeable.wait(ledger.all().length > 0 ? LOOK_MS * 4 : IDLE_MS);
        else await attemptCopy(copying, item);
      }
    },
    progress: () => ledger.all().map((item) => copyProgress(item, state)),
  };
}

/** Returns one item for each replica that still lacks the checkpoint, with a transfer and an attempt of its own. */
function copiesOf(
  item: Capture,
  { owed, claim, takenAt }: { owed: readonly string[]; claim: ClaimAnswer; takenAt: number },
): CopyItem[] {
  const { epoch, parent } = claim;
  return owed.map((profileId) => ({
    capture: {
      ...item,
      transferId: randomUUID(),
      attempt: newAttempt(),
      home: profileId,
      state: "waiting" as const,
      startedAt: null,
      sentBytes: 0,
      retries: 0,
      measured: undefined,
      fault: null,
    },
    claim: { epoch, parent },
    takenAt,
    isPaused: false,
    fault: null,
  }));
}

/** Passes over every copy when a newer checkpoint of the same run waits for the same bucket. */
async function passOverOlder(copying: Copying): Promise<void> {
  const { parts, state } = copying;
  const all = parts.ledger.all();
  for (const item of all) {
    const { run, home, capturedAt, transferId } = item.capture;
    const isOlder = all.some(
      ({ capture: other }) => other.run === run && other.home === home && other.capturedAt > capturedAt,
    );
    if (!isOlder || state.active?.item.capture.transferId === transferId) continue;
    await endCopy(copying, item, { state: "superseded", fault: null, active: null });
  }
}

/** Returns the newest checkpoint that may be copied now. */
const nextCopy = ({ parts, state }: Copying): CopyItem | null =>
  parts.ledger
    .all()
    .filter(
      (item) => !item.isPaused && waitOf(state, item).until <= parts.clock.now() && !parts.isHeld(item.capture.run),
    )
    .toSorted((a, b) => b.capture.capturedAt - a.capture.capturedAt)[0] ?? null;
