import type { Checkpoint } from "#prisma/client/client.ts";
import type { Hub } from "#server/core/api/hub.ts";

/** No checkpoint lies deeper than this. */
const MOST_FOLDERS = 64;

/**
 * Returns external checkpoints of a profile that may name a key, judged by their place. Only their manifests say whether they
 * do.
 */
export async function adoptedAround(
  hub: Pick<Hub, "db">,
  { profileId, key }: { profileId: string; key: string },
): Promise<Checkpoint[]> {
  const segments = key.split("/").slice(0, MOST_FOLDERS);
  const places = segments.map((_, depth) =>
    segments
      .slice(0, depth)
      .map((name) => `${name}/`)
      .join(""),
  );
  const found = await hub.db.adoption.findMany({
    where: { profileId, place: { in: [key, ...places] } },
    include: { checkpoint: true },
  });
  return found.map(({ checkpoint }) => checkpoint);
}
