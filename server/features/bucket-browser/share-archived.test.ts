import { afterAll, beforeAll, expect, it } from "vitest";
import { fault } from "#server/testing/match-fault.ts";
import { addTestProfile, callAs, openTestHub, type TestHub } from "#server/testing/open-test-hub.ts";
import { serveCanned, type CannedServer } from "#storage/testing/canned-server.ts";

let server: CannedServer;
let test: TestHub;
let profileId = "";
/** Value of `x-amz-restore` by the end of the key. */
const RESTORES: Record<string, string> = { soon: 'ongoing-request="true"', back: 'ongoing-request="false"' };
beforeAll(async () => {
  server = await serveCanned(({ path }) => {
    const restore = RESTORES[path.split("/").at(-1) ?? ""];
    const headers = { "content-length": "1", etag: '"e"', "x-amz-storage-class": "DEEP_ARCHIVE" };
    return { headers: { ...headers, ...(restore !== undefined && { "x-amz-restore": restore }) } };
  });
  test = await openTestHub();
  profileId = await addTestProfile(test.hub, server.endpoint);
});
afterAll(async () => {
  await test.close();
  await server[Symbol.asyncDispose]();
});

it("an archived object is not shared, nor one that is being restored; one that has been restored is", async () => {
  const share = (key: string) => callAs(test.hub, "operator").bucket.share({ profileId, key, lifetimeMs: 60_000 });
  await expect(share("cold")).rejects.toEqual(fault("OBJECT_ARCHIVED"));
  await expect(share("soon")).rejects.toEqual(fault("OBJECT_BEING_RESTORED"));
  expect((await share("back")).url).toContain("/back?");
});
