import { expect, test } from "vitest";
import { PRESETS } from "../providers/providers.ts";
import { serveCanned } from "../testing/canned-server.ts";
import { createControlClient } from "./client.ts";
import { keepsVersions } from "./delete-many.ts";

test.each([
  ["<Status>Enabled</Status>", true],
  // What was written before it was suspended still has its version, and a lock on it.
  ["<Status>Suspended</Status>", "some"],
  ["", false],
])("a bucket whose versioning is %j keeps what is deleted: %j", async (status, keeps) => {
  const body = `<VersioningConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${status}</VersioningConfiguration>`;
  await using server = await serveCanned(() => ({ headers: { "content-type": "application/xml" }, body }));
  const access = {
    endpoint: server.endpoint,
    region: "us-east-1",
    bucket: "b",
    addressing: "path",
    traits: PRESETS.other.traits,
  } as const;
  const client = createControlClient({ access, credential: { accessKeyId: "k", secretAccessKey: "s" } });
  expect(await keepsVersions(client, "b")).toBe(keeps);
  client.destroy();
});
