import type { Checkpoint } from "#prisma/client/client.ts";
import type { Hub } from "#server/core/api/hub.ts";

/** Deeper keys are nobody's checkpoint. */
const MOST_FOLDERS = 64;

/** Adopted checkpoints of a profile that a key may belong to, by their places. Whether they name it their manifests say. */
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
