import { placeOf, type ShownPlace } from "#protocol/checkpoint/place.ts";
import type { Agent } from "./agent-assemble.ts";
import { systemClock } from "../base/clock.ts";
import { readCheckpoint } from "../restore/read-checkpoint.ts";
import { unlock } from "../restore/unlock.ts";

/** A checkpoint, with its place when the hub sent it. */
export interface FoundPlace {
  checkpointId: string;
  place?: ShownPlace;
}

/**
 * Returns where a checkpoint belongs below its watched folder. Reads the manifest when the hub did not send the place: the hub
 * is older, or names are hidden from it by encryption. Faults: those of `readCheckpoint` and `unlock`.
 */
export async function findPlace(
  { hub, signal }: Pick<Agent, "hub" | "signal">,
  { checkpointId, place }: FoundPlace,
): Promise<ShownPlace> {
  if (place !== undefined) return place;
  const request = { hub, signal, command: { checkpointId }, withArchived: true };
  const { manifest: stored } = await readCheckpoint(systemClock, request);
  const { manifest } = await unlock(systemClock, { hub, signal }, stored);
  return placeOf(manifest, "place" in manifest ? manifest.place : null);
}
