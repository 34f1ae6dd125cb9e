import { expect, test } from "vitest";
import { traitsOf } from "#storage/providers/providers.ts";
import type { StoreAccess } from "#storage/signing/signing.ts";
import { s3Error, type Seen } from "#storage/testing/canned-server.ts";
import { serveSmallStore } from "#storage/testing/small-store.ts";
import { tryStore } from "./try-store.ts";

const credential = { accessKeyId: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "a secret that stays here" };
const accessTo = (endpoint: string): StoreAccess => ({
  endpoint,
  region: "us-east-1",
  bucket: "training",
  addressing: "path",
  traits: traitsOf("minio"),
});
/** What a request was signed with, in its URL or in its header. */
const signatureOf = ({ query, headers }: Seen): string =>
  `${query.get("X-Amz-Credential") ?? ""} ${headers.authorization ?? ""}`;

test("a region that the store names is followed before the rights are tried", async () => {
  await using store = await serveSmallStore((_op, seen) => {
    if (signatureOf(seen).includes("/eu-west-1/")) return null;
    const refusal = s3Error(400, "AuthorizationHeaderMalformed");
    return { ...refusal, headers: { ...refusal.headers, "x-amz-bucket-region": "eu-west-1" } };
  });
  const { view, region } = await tryStore({ access: accessTo(store.endpoint), credential, prefix: "" });
  expect(region).toBe("eu-west-1");
  expect(view.ok).toBe(true);
});

test("a clock that is hours off does not keep the rights from being tried", async () => {
  const aheadMs = 5 * 3_600_000;
  await using store = await serveSmallStore((op, seen) => {
    const storeMs = Date.now() + aheadMs;
    const headers = { "content-type": "application/xml", date: new Date(storeMs).toUTCString() };
    const signedMs = signedAtMs(seen);
    if (Math.abs(storeMs - signedMs) > 15 * 60_000) return { ...s3Error(403, "RequestTimeTooSkewed"), headers };
    // The first question, about an object that is not there.
    return op === "HeadObject" && seen.path.endsWith("/tidemark-check") ? { status: 404, headers } : null;
  });
  const { view } = await tryStore({ access: accessTo(store.endpoint), credential, prefix: "" });
  expect(view.ok).toBe(true);
});

/** `20261121T215803Z`, from the URL or from the header. */
function signedAtMs({ query, headers }: Seen): number {
  const text = query.get("X-Amz-Date") ?? String(headers["x-amz-date"]);
  return Date.parse(text.replace(/^(....)(..)(..T..)(..)(..Z)$/, "$1-$2-$3:$4:$5"));
}
