import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { isAdopted } from "#protocol/checkpoint/adopted.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { attemptId } from "#protocol/base/names.ts";
import type { Engine } from "../transfer/engine.ts";
import type { ProgressCounters } from "../transfer/progress/transfer-progress.ts";
import { clearCopy, copyObjects } from "../replicas/copy-objects.ts";
import { readCheckpoint } from "../restore/read-checkpoint.ts";
import type { CheckCommand, CheckerParts } from "./checker-parts.ts";
import { engineFor } from "./engine-for.ts";

type CopyCommand = Extract<CheckCommand, { kind: "copy" }>;

/** Returns the paths of what a copy keeps until it is done. */
export const copyPlaces = ({ state }: CheckerParts, { transferId }: CheckCommand) => ({
  scratch: join(state, "drills", transferId),
  journal: join(state, "verifies", `${transferId}.sent.jsonl`),
});

/**
 * Copies a checkpoint from one bucket of its run to another, as the hub asked. Faults: CONFLICT when the copy is not wanted any
 * more, those of `copyObjects` and the hub.
 */
export async function copyAcross(
  parts: CheckerParts,
  engine: Engine,
  about: { command: CopyCommand; until: AbortSignal; onStart(counters: ProgressCounters): void },
): Promise<ProgressCounters> {
  const { command, until, onStart } = about;
  const { hub } = parts;
  const { checkpointId, profileId, run } = command;
  const refuse = (detail: string) => new Fault("CONFLICT", { op: "copy", subject: run, detail });
  const offered = await readCheckpoint(engine.retrier.clock, { command, hub, signal: until, asStored: true });
  const { manifest: read } = offered;
  const to = (await parts.copyTo?.(run, profileId)) ?? null;
  if (isAdopted(read) || to === null) throw refuse("it has no such home");
  // The same after a kill, and different for every other copy.
  const attempt = attemptId.parse(command.transferId.replaceAll("-", "").slice(0, 20));
  const request = { checkpointId, profileId, attempt };
  const { isWanted } = await hub.ask("beginCopy", (client, signal) =>
    client.node.beginCopy.mutate(request, { signal }),
  );
  if (!isWanted) throw refuse("the copy is there already, or somebody else makes it");
  const made: { counters: ProgressCounters | null } = { counters: null };
  const from = engineFor(parts, engine, offered);
  const places = copyPlaces(parts, command);
  await mkdir(join(parts.state, "verifies"), { recursive: true });
  const manifest = await copyObjects(
    { from, to: to.engine },
    {
      manifest: read,
      store: to.store,
      attempt,
      ...places,
      signal: until,
      onStart: (counters) => {
        made.counters = counters;
        onStart(counters);
      },
    },
  );
  await hub.ask("commitCopy", (client, signal) => client.node.commitCopy.mutate({ manifest }, { signal }));
  await clearCopy(places);
  if (made.counters === null) throw new Fault("INTERNAL", { op: "copy" });
  return made.counters;
}
