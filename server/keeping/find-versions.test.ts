import { PutBucketVersioningCommand } from "@aws-sdk/client-s3";
import { expect, it } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { profileId, test } from "../checkpoints/pair-for-each.ts";
import { run } from "../checkpoints/stage-checkpoint.ts";
import { fault } from "../hub/match-fault.ts";
import { callAs } from "../hub/open-test-hub.ts";
import { historyForEach } from "./history-for-each.ts";

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
