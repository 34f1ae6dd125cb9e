import type { Stage } from "./open-stage.ts";

/** Writes the rule into the bucket that lets the hub's pages send and fetch. */
export async function letPagesIn({ client, profileId }: Stage): Promise<void> {
  const plan = await client.profiles.corsPlan.mutate({ id: profileId });
  await client.profiles.writeCors.mutate({ id: profileId, digest: plan.digest });
}
