import { afterEach, beforeEach, expect, it } from "vitest";
import { checkMasterKey } from "./check-master-key.ts";
import { addTestProfile, openTestHub, type TestHub } from "../testing/open-test-hub.ts";

let test: TestHub;
beforeEach(async () => {
  test = await openTestHub();
});
afterEach(() => test.close());

it("makes a first key only while nothing is sealed", async () => {
  const { db, signer } = test.hub;
  const made = async (): Promise<boolean> => {
    await db.canary.deleteMany();
    return checkMasterKey(db, signer, 0).then(async () => (await db.canary.count()) === 1);
  };
  expect(await made()).toBe(true);
  await addTestProfile(test.hub, "http://127.0.0.1:9");
  await expect(made()).rejects.toMatchObject({ code: "MASTER_KEY_MISSING" });
  expect(await db.canary.count()).toBe(0);
});
