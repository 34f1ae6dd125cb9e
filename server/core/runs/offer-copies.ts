import type { CopyOffer } from "#protocol/wire/homes.ts";
import type { LinkDirection } from "#protocol/wire/transfer.ts";
import type { Checkpoint } from "#prisma/client/client.ts";
import { expectedOfNeighbours, expectedRate } from "../history/expected-rate.ts";
import type { Hub } from "../api/hub.ts";
import { nodeStoreOf } from "../nodes/hello.ts";
import { completeCopies, type Lying } from "../profiles/homes-of.ts";
import { awayFor } from "./note-away.ts";

/** Returns the direction by which to compare buckets; rates of different directions are not comparable. */
function wayKnown(
  hub: Pick<Hub, "history" | "live">,
  about: { nodeId: string; profileIds: readonly string[]; wanted: LinkDirection },
): LinkDirection {
  const other = about.wanted === "upload" ? ("download" as const) : ("upload" as const);
  const known = (direction: LinkDirection) =>
    about.profileIds.every((profileId) => expectedRate(hub, { nodeId: about.nodeId, profileId, direction }) !== null);
  return !known(about.wanted) && known(other) ? other : about.wanted;
}

/** Returns the expected rate from a node to each bucket, bytes per second, by its own history first; null: unknown. */
export function ratesTo(
  hub: Pick<Hub, "history" | "live">,
  about: { nodeId: string; profileIds: readonly string[]; wanted: LinkDirection },
): Map<string, number | null> {
  const direction = wayKnown(hub, about);
  const rateOf = (profileId: string): number | null =>
    (
      expectedRate(hub, { nodeId: about.nodeId, profileId, direction }) ??
      expectedOfNeighbours(hub, { profileId, direction })
    )?.bytesPerSecond ?? null;
  return new Map(about.profileIds.map((id) => [id, rateOf(id)]));
}

interface Ranked {
  isDamaged: boolean;
  isAway: boolean;
  bytesPerSecond: number | null;
}

/**
 * Orders copies: sound before damaged, reachable before unreachable, fast before slow. Copies with unknown rates come last,
 * in the order that people configured.
 */
export const byFitness = (a: Ranked, b: Ranked): number =>
  Number(a.isDamaged) - Number(b.isDamaged) ||
  Number(a.isAway) - Number(b.isAway) ||
  (b.bytesPerSecond ?? -1) - (a.bytesPerSecond ?? -1);

/** Returns the copy that a node would read first. */
export function bestFor(
  hub: Pick<Hub, "history" | "live">,
  { nodeId, copies }: { nodeId: string; copies: readonly Lying[] },
): { profileId: string; bucket: string } {
  const rates = ratesTo(hub, { nodeId, profileIds: copies.map(({ profileId }) => profileId), wanted: "download" });
  const ranked = copies.map(({ profileId, bucket, damagedAt }) => ({
    profileId,
    bucket,
    isDamaged: damagedAt !== null,
    isAway: awayFor(hub, profileId) !== null,
    bytesPerSecond: rates.get(profileId) ?? null,
  }));
  return ranked.toSorted(byFitness)[0] ?? { profileId: "", bucket: "" };
}

/** Returns the copies that a node may read, best first. */
export async function offerCopies(hub: Hub, about: { nodeId: string; checkpoint: Checkpoint }): Promise<CopyOffer[]> {
  const { nodeId, checkpoint } = about;
  const copies = await completeCopies(hub.db, checkpoint);
  const rates = ratesTo(hub, { nodeId, profileIds: copies.map(({ profileId }) => profileId), wanted: "download" });
  const offers: (CopyOffer & Ranked)[] = [];
  for (const { profileId, damagedAt } of copies) {
    const store = await nodeStoreOf(hub, profileId);
    if (store === null) continue;
    const isAway = awayFor(hub, profileId) !== null;
    offers.push({ store, isDamaged: damagedAt !== null, isAway, bytesPerSecond: rates.get(profileId) ?? null });
  }
  return offers
    .toSorted(byFitness)
    .map(({ store, isDamaged, bytesPerSecond }) => ({ store, isDamaged, bytesPerSecond }));
}
