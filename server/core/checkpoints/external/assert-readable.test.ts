import { expect, test } from "vitest";
import { createControlClient } from "#storage/s3/client.ts";
import { PRESETS } from "#storage/providers/providers.ts";
import { serveCanned } from "#storage/testing/canned-server.ts";
import { assertReadable } from "./assert-readable.ts";

const object = (key: string, storageClass: string | null) => ({
  key,
  sizeBytes: 1,
  etag: '"e"',
  modifiedAt: 1,
  storageClass,
});

test("objects in an archive are named, but for those that somebody had brought back; no other is asked for", async () => {
  await using server = await serveCanned(({ path }) => ({
    headers: {
      "content-length": "1",
      etag: '"e"',
      "x-amz-storage-class": "GLACIER",
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
    context: { subject: "cold", detail: "cold, soon" },
  });
  client.destroy();
});
