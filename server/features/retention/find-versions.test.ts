import { PutBucketVersioningCommand } from "@aws-sdk/client-s3";
import { expect, it } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { profileId, test } from "#server/testing/pair-for-each.ts";
import { run } from "#server/testing/stage-checkpoint.ts";
import { fault } from "#server/testing/match-fault.ts";
import { callAs } from "#server/testing/open-test-hub.ts";
import { historyForEach } from "#server/testing/history-for-each.ts";

historyForEach(1);
const ask = (name: string = run) => callAs(test.hub, "viewer").keeping.versions({ run: runName.parse(name) });

it("tells whether the bucket of a run keeps what is deleted", async () => {
  expect(await ask()).toEqual([{ bucket: "training", keepsVersions: false }]);
  const { client, access } = await test.hub.stores.open(profileId);
  const VersioningConfiguration = { Status: "Enabled" } as const;
  await client.send(new PutBucketVersioningCommand({ Bucket: access.bucket, VersioningConfiguration }));
  expect(await ask()).toEqual([{ bucket: "training", keepsVersions: true }]);
  await expect(ask("nothing")).rejects.toEqual(fault("NOT_FOUND"));
});
