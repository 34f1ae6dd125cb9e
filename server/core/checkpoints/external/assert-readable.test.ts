import { expect, test } from "vitest";
import { createControlClient } from "#storage/s3/client.ts";
import { PRESETS } from "#storage/providers/providers.ts";
import { serveCanned } from "#storage/testing/canned-server.ts";
import { assertReadable } from "./assert-readable.ts";

const object = (key: string, storageClass: string | null, sizeBytes = 1) => ({
  key,
  sizeBytes,
  etag: '"e"',
  modifiedAt: 1,
  storageClass,
});

test("objects in an archive are named, but for those that somebody had brought back; no other is asked for", async () => {
  await using server = await serveCanned(({ path }) => ({
    headers: {
      "content-length": "1",
      etag: '"e"',
      "x-amz-storage-class": path.includes("tier") ? "INTELLIGENT_TIERING" : "GLACIER",
      ...(path.endsWith("tier-cold") && { "x-amz-archive-status": "ARCHIVE_ACCESS" }),
      ...(path.endsWith("back") && {
        "x-amz-restore": 'ongoing-request="false", expiry-date="Fri, 21 Dec 2029 00:00:00 GMT"',
      }),
      ...(path.endsWith("soon") && { "x-amz-restore": 'ongoing-request="true"' }),
    },
  }));
  const access = {
    endpoint: server.endpoint,
    region: "us-east-1",
    bucket: "b",
    addressing: "path",
    traits: PRESETS.other.traits,
  } as const;
  const client = createControlClient({ access, credential: { accessKeyId: "k", secretAccessKey: "s" } });
  const { signal } = new AbortController();
  const check = (...objects: ReturnType<typeof object>[]) => assertReadable({ client, access }, { objects, signal });
  await check(object("plain", null), object("warm", "STANDARD"), object("quick", "GLACIER_IR"));
  expect(server.seen).toEqual([]);
  await check(object("back", "GLACIER"));
  await expect(
    check(object("x", null), object("soon", "DEEP_ARCHIVE"), object("cold", "GLACIER")),
  ).rejects.toMatchObject({
    code: "OBJECT_ARCHIVED",
    context: { subject: "cold", detail: "cold, soon (is being restored)" },
  });
  await expect(check(object("soon", "GLACIER"))).rejects.toMatchObject({
    code: "OBJECT_BEING_RESTORED",
    message: expect.stringContaining("soon: The object is being restored from its archive") as string,
  });
  server.seen.length = 0;
  await check(object("tier-small", "INTELLIGENT_TIERING"), object("tier-warm", "INTELLIGENT_TIERING", 200_000));
  expect(server.seen.map(({ path }) => path)).toEqual(["/b/tier-warm"]);
  await expect(check(object("tier-cold", "INTELLIGENT_TIERING", 200_000))).rejects.toMatchObject({
    code: "OBJECT_ARCHIVED",
    context: { subject: "tier-cold" },
  });
  client.destroy();
});
