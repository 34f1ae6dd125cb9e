import { join } from "node:path";
import { isFault } from "#protocol/faults/fault.ts";
import type { Agent } from "../agent/agent-assemble.ts";
import { isThere } from "../base/disk/is-there.ts";
import { findPlace } from "../agent/find-place.ts";
import { readRoom } from "../base/room.ts";
import { isInFolder, type NamedParts, type Restored } from "./restore-named.ts";

export type KeptParts = NamedParts & Pick<Agent, "session">;

/** Space to leave for the next checkpoint, in multiples of its size: the capture of it may be a second copy. */
const ROOM_FOR_NEXT = 2;
const SLACK = 1.05;

/**
 * Restores older checkpoints of the resumed line that are kept in the bucket, each to its own place, newest first. Stops with
 * a message at the first for which the disk lacks space, counting the program's next checkpoint.
 * @throws Faults of the hub, READ_FAILED
 */
export async function restoreKept(agent: KeptParts, { run, folder, point }: Restored): Promise<void> {
  const { hub, restorer, reporter, signal, session } = agent;
  if (session.knows("kept") !== true) {
    reporter.keptUnknown({ run });
    return;
  }
  const kept = await hub.ask("listKept", (client, limit) => client.node.listKept.query({ run }, { signal: limit }));
  const older = kept.filter((one) => one.step < point.step && isInFolder(agent, folder, one));
  const ownBytes = kept.find(({ step }) => step === point.step)?.sizeBytes ?? older[0]?.sizeBytes ?? 0;
  for (const [index, found] of older.entries()) {
    if (signal.aborted) return;
    const { checkpointId, step, sizeBytes } = found;
    const targetPath = join(folder, (await findPlace(agent, found)).path);
    if (await isThere(targetPath)) continue;
    const { freeBytes } = await readRoom(folder);
    const neededBytes = Math.ceil(sizeBytes * SLACK + ownBytes * ROOM_FOR_NEXT);
    if (freeBytes < neededBytes) {
      reporter.keptNotAll({ run, step, left: older.length - index, neededBytes, freeBytes });
      return;
    }
    try {
      await restorer.restoreFirst({ checkpointId, run, step, targetPath, isAlone: true });
      reporter.restoredToo({ run, step, path: targetPath, why: "kept" });
    } catch (error) {
      if (!isFault(error)) throw error;
      reporter.waitingFor(error);
    }
  }
}
