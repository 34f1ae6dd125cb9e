import type { Engine } from "../transfer/engine.ts";
import type { OfferedCheckpoint } from "../restore/read-checkpoint.ts";
import type { CheckerParts } from "./checker-parts.ts";

/** For the bucket that a manifest lies in: it may be another home than this node's own profile. */
export function engineFor({ engineAt }: CheckerParts, engine: Engine, { manifest, copies }: OfferedCheckpoint): Engine {
  if (engineAt === undefined) return engine;
  const offer = copies.find(({ store }) => store.profileId === manifest.homes[0]?.profileId);
  return offer === undefined ? engine : engineAt(offer.store);
}
