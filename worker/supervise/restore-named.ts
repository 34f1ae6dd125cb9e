import { join } from "node:path";
import { isFault } from "#protocol/faults/fault.ts";
import type { FoundCheckpoint } from "#protocol/wire/hello.ts";
import { nameOfPlace } from "#protocol/checkpoint/place.ts";
import type { Agent } from "../agent/agent-assemble.ts";
import { watchFor } from "../capture/watch.ts";
import { isThere } from "../base/disk/is-there.ts";
import { namesInState } from "../restore/named-checkpoints.ts";
import type { ResumePoint } from "../agent/choose-resume.ts";

export type NamedParts = Pick<Agent, "options" | "hub" | "restorer" | "reporter" | "signal">;

/** The resume point of a run in its watched folder. */
export interface Restored {
  run: ResumePoint["run"];
  folder: string;
  point: ResumePoint;
}

/**
 * Restores the checkpoints that go with the resumed one, each to its own place: those that its state names (the best one, the
 * top k), and those that were beside it, for frameworks that compare all of them. @throws Faults of the hub
 */
export async function restoreNamed(agent: NamedParts, { run, folder, point }: Restored): Promise<void> {
  const { hub, restorer, reporter, signal } = agent;
  const names = new Set([...(await namesInState(point.path)), ...(point.siblings ?? [])]);
  for (const name of names) {
    if (signal.aborted) return;
    const found = await hub.ask("findCheckpoint", (client, limit) =>
      client.node.findCheckpoint.query({ run, name }, { signal: limit }),
    );
    if (found === null || nameOf(found) !== name || !isInFolder(agent, folder, found)) continue;
    const { checkpointId, step, place } = found;
    const targetPath = join(folder, place?.path ?? name);
    if (await isThere(targetPath)) continue;
    try {
      await restorer.restoreFirst({ checkpointId, run, step, targetPath, isAlone: true });
      reporter.restoredToo({ run, step, path: targetPath, why: "named" });
    } catch (error) {
      if (!isFault(error)) throw error;
      reporter.waitingFor(error);
    }
  }
}

/** Returns whether a checkpoint belongs into a watched folder of its run, of which there may be several. */
export const isInFolder = ({ options }: NamedParts, folder: string, { run, place }: FoundCheckpoint): boolean =>
  watchFor(options.watches, { run, root: place?.root })?.folder === folder;

/** Returns the name of a found checkpoint. It is compared because an older hub may answer with another checkpoint. */
const nameOf = ({ step, place }: FoundCheckpoint): string =>
  place === undefined ? `checkpoint-${step}` : nameOfPlace(place.path);
