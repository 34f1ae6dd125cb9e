import { createHash } from "node:crypto";
import type { Stage } from "./open-stage.ts";

/** Returns the SHA-256, hex, of an object in the stage's bucket, downloaded as a browser does. */
export async function hashObject({ client, profileId }: Stage, key: string): Promise<string> {
  const [found] = await client.browserTransfers.lookAt.mutate({ profileId, keys: [key] });
  const objects = [{ key, etag: found?.etag ?? "" }];
  const [signed] = await client.browserTransfers.signReads.mutate({ profileId, objects });
  const { range: _, ...headers } = signed?.request.headers ?? {};
  const answer = await fetch(signed?.request.url ?? "", { headers });
  const hash = createHash("sha256");
  for await (const bytes of answer.body ?? []) hash.update(bytes);
  return hash.digest("hex");
}
