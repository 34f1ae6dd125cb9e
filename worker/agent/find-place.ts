import { placeOf, type ShownPlace } from "#protocol/checkpoint/place.ts";
import type { Agent } from "./agent-assemble.ts";
import { systemClock } from "../base/clock.ts";
import { readCheckpoint } from "../restore/read-checkpoint.ts";
import { unlock } from "../restore/unlock.ts";

/** A checkpoint, with its place where the hub said one. */
export interface FoundPlace {
  checkpointId: string;
  place?: ShownPlace;
}

/**
 * Returns where a checkpoint is put below a watched folder. Where the hub does not say it (it is older, or names are hidden from
 * it), the manifest does. Faults: those of `readCheckpoint` and `unlock`.
 */
export async function findPlace(
  { hub, signal }: Pick<Agent, "hub" | "signal">,
  { checkpointId, place }: FoundPlace,
): Promise<ShownPlace> {
  if (place !== undefined) return place;
  const wish = { hub, signal, command: { checkpointId } };
  const { manifest: stored } = await readCheckpoint(systemClock, wish);
  const { manifest } = await unlock(systemClock, { hub, signal }, stored);
  return placeOf(manifest, "place" in manifest ? manifest.place : null);
}
