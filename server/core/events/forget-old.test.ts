import { afterEach, beforeEach, expect, it } from "vitest";
import { openTestHub, type TestHub } from "#server/testing/open-test-hub.ts";
import { forgetOld } from "./forget-old.ts";

const DAY_MS = 86_400_000;
let test: TestHub;
beforeEach(async () => {
  test = await openTestHub();
});
afterEach(() => test.close());

const ago = (days: number): Date => new Date(test.hub.now() - days * DAY_MS);

it("who did what is forgotten after as long as the operator wants it kept, counted from its last use", async () => {
  const kept = test.hub.settings.auditKeptMs / DAY_MS;
  const line = { actor: "ada@example.com", subject: "x" };
  await test.hub.db.audit.createMany({
    data: [
      { ...line, action: "old", at: ago(kept + 1) },
      { ...line, action: "old, its last use too", at: ago(kept + 9), lastAt: ago(kept + 1) },
      { ...line, action: "used since", at: ago(kept + 9), lastAt: ago(1) },
      { ...line, action: "young", at: ago(kept - 1) },
    ],
  });
  await forgetOld(test.hub);
  const left = await test.hub.db.audit.findMany({ where: { subject: "x" }, orderBy: { action: "asc" } });
  expect(left.map(({ action }) => action)).toEqual(["used since", "young"]);
});

it("events are forgotten after ninety days, younger ones stay", async () => {
  const line = { kind: "node-joined", work: "safe" };
  await test.hub.db.event.createMany({
    data: [
      { ...line, text: "old", at: ago(91) },
      { ...line, text: "young", at: ago(89) },
    ],
  });
  await forgetOld(test.hub);
  const left = await test.hub.db.event.findMany({ where: { kind: "node-joined" } });
  expect(left.map(({ text }) => text)).toEqual(["young"]);
});
