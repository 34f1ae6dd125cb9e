import type { StoredManifest } from "#protocol/adopted.ts";
import type { Engine } from "../engine/engine.ts";
import { askCheckpoint } from "../restore/restore.ts";
import type { CheckerParts } from "./checker.ts";

/** For the bucket that a manifest lies in: it may be another home than this node's own profile. */
export async function engineFor(
  { hub, engineAt }: CheckerParts,
  engine: Engine,
  about: { manifest: StoredManifest; until: AbortSignal },
): Promise<Engine> {
  const { manifest, until: signal } = about;
  if (engineAt === undefined) return engine;
  const asked = { hub, signal, checkpointId: manifest.id };
  const { copies } = await askCheckpoint(engine.retrier.clock, asked);
  const offer = copies.find(({ store }) => store.profileId === manifest.homes[0]?.profileId);
  return offer === undefined ? engine : engineAt(offer.store);
}
