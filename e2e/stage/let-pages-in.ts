import type { Stage } from "./open-stage.ts";

/** Writes the CORS rule that lets the hub's pages send to and read from the bucket. */
export async function letPagesIn({ client, profileId }: Stage): Promise<void> {
  const plan = await client.profiles.corsPlan.mutate({ id: profileId });
  await client.profiles.writeCors.mutate({ id: profileId, digest: plan.digest });
}
