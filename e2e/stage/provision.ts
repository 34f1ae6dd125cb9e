import type { ProfileDraft } from "#protocol/wire/requests.ts";
import type { HubClient } from "./hub-client.ts";

export interface StoreAddress {
  endpoint: string;
  bucket: string;
  accessKey: string;
  secretKey: string;
}

/** Creates a bucket profile for a store of the stage and returns its id. An existing profile with this name is reused. */
export async function addProfile(
  hub: HubClient,
  at: { name: string; store: StoreAddress; prefix?: string; region?: string },
): Promise<string> {
  const existing = (await hub.profiles.list.query()).find((one) => one.profile.name === at.name);
  const profile: ProfileDraft = {
    name: at.name,
    provider: "minio",
    bucket: at.store.bucket,
    region: at.region ?? "us-east-1",
    prefix: at.prefix ?? "",
    endpoint: at.store.endpoint,
    workerEndpoint: null,
    browserEndpoint: null,
    addressing: "path",
  };
  const credential = { accessKeyId: at.store.accessKey, secretAccessKey: at.store.secretKey };
  if (existing === undefined) return (await hub.profiles.create.mutate({ profile, credential })).id;
  if (existing.profile.endpoint !== profile.endpoint) {
    await hub.profiles.update.mutate({ id: existing.id, version: existing.version, profile, credential });
  }
  return existing.id;
}

/** Creates a join token for `maxUses` nodes, valid for a day. */
export async function addToken(hub: HubClient, at: { profileId: string; maxUses: number }): Promise<string> {
  const made = await hub.tokens.create.mutate({ label: "stage", validMs: 86_400_000, ...at });
  return made.token;
}
