import type { Engine } from "../transfer/engine.ts";
import type { OfferedCheckpoint } from "../restore/read-checkpoint.ts";
import type { CheckerParts } from "./checker-parts.ts";

/** Returns the engine for the bucket of a manifest, which may be a replica in place of this node's own bucket. */
export function engineFor({ engineAt }: CheckerParts, engine: Engine, { manifest, copies }: OfferedCheckpoint): Engine {
  if (engineAt === undefined) return engine;
  const offer = copies.find(({ store }) => store.profileId === manifest.homes[0]?.profileId);
  return offer === undefined ? engine : engineAt(offer.store);
}
