import { Fault } from "#protocol/fault.ts";
import { faultOfAnswer } from "#storage/faults.ts";
import type { StoreAccess } from "#storage/signing.ts";
import { presign, type Credential, type QueryPairs } from "#storage/sigv4.ts";
import { childrenOf, integerOf, parseXml, textOf } from "#storage/xml.ts";
import type { Engine } from "../engine/engine.ts";
import { createPatience, withRetry } from "../engine/retry.ts";

export interface ListedObject {
  key: string;
  sizeBytes: number;
}

/**
 * All objects under a prefix, by signed ListObjectsV2. Written here because the SDK's client would triple the size of the
 * worker. An answer that is not a complete listing is a Fault, never "there is nothing".
 */
export async function listObjects(
  engine: Engine,
  from: { access: StoreAccess; credential: Credential },
  about: { prefix: string; signal: AbortSignal },
): Promise<ListedObject[]> {
  const found: ListedObject[] = [];
  const patience = createPatience(engine.retrier.clock);
  let token: string | null = null;
  do {
    const query: QueryPairs = [
      ["list-type", "2"],
      ["prefix", about.prefix],
      ...(token === null ? [] : [["continuation-token", token] as const]),
    ];
    const page = await withRetry(engine.retrier, { signal: about.signal, patience }, async () => {
      const answer = await engine.wire.send({
        request: { method: "GET", url: urlOf(from, query), headers: {}, expiresAt: Date.now() + 600_000 },
        op: "ListObjectsV2",
        subject: `${from.access.bucket}/${about.prefix}`,
        signal: about.signal,
      });
      return readPage(answer, `${from.access.bucket}/${about.prefix}`);
    });
    found.push(...page.objects);
    token = page.next;
    patience.progressed();
  } while (token !== null);
  return found;
}

function urlOf(from: { access: StoreAccess; credential: Credential }, query: QueryPairs): string {
  const { access, credential } = from;
  const { protocol, host } = new URL(access.endpoint);
  const byPath = access.addressing === "path";
  const origin = byPath ? `${protocol}//${host}` : `${protocol}//${access.bucket}.${host}`;
  return presign(
    { method: "GET", origin, path: byPath ? `/${access.bucket}` : "/", query, headers: {} },
    { credential, region: access.region, nowMs: Date.now(), lifetimeMs: 600_000 },
  );
}

function readPage(
  answer: Parameters<typeof faultOfAnswer>[0]["answer"],
  subject: string,
): { objects: ListedObject[]; next: string | null } {
  const asked = { op: "ListObjectsV2", subject, answer };
  const parsed = answer.status === 200 ? parseXml(answer.body) : null;
  if (parsed === null || parsed.root !== "ListBucketResult") throw faultOfAnswer(asked);
  const objects = childrenOf(parsed.element, "Contents").map((element) => {
    const key = textOf(element, "Key");
    const sizeBytes = integerOf(element, "Size");
    if (key === undefined || sizeBytes === undefined) {
      throw new Fault("UNEXPECTED_ANSWER", { op: "ListObjectsV2", subject, detail: "an object without key or size" });
    }
    return { key, sizeBytes };
  });
  const truncated = textOf(parsed.element, "IsTruncated")?.trim() === "true";
  const next = textOf(parsed.element, "NextContinuationToken")?.trim() ?? "";
  if (truncated && next === "") {
    throw new Fault("UNEXPECTED_ANSWER", { op: "ListObjectsV2", subject, detail: "a page that leads nowhere" });
  }
  return { objects, next: truncated ? next : null };
}
