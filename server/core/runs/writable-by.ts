import type { Database } from "#prisma/open.ts";
import { isWriter } from "./is-writer.ts";
import { homesOf } from "../profiles/homes-of.ts";

/** Returns the bucket profiles that a node writes to: its own first, then the homes of runs that it writes now. */
export async function writableBy(
  db: Pick<Database, "epoch" | "epochMember" | "run" | "runHome">,
  node: { id: string; profileId: string },
): Promise<string[]> {
  const claims = await db.epoch.findMany({
    where: { nodeId: node.id },
    distinct: ["run"],
    select: { run: true },
    orderBy: { run: "asc" },
  });
  const joined = await db.epochMember.findMany({
    where: { nodeId: node.id },
    distinct: ["run"],
    select: { run: true },
  });
  const found = new Set([node.profileId]);
  for (const run of new Set([...claims, ...joined].map((one) => one.run))) {
    if ((await isWriter(db, run, node.id)) !== true) continue;
    const { profileIds = [] } = (await homesOf(db, run)) ?? {};
    if (profileIds.includes(node.profileId)) for (const profileId of profileIds) found.add(profileId);
  }
  return [...found];
}
