import { expect, it } from "vitest";
import type { AuditRow } from "#protocol/fleet/people.ts";
import { actionsIn, actorsIn } from "./audit-choices.ts";

const row = (part: Partial<AuditRow>): AuditRow => ({
  id: 1,
  at: 0,
  actorKind: "person",
  actorId: "a",
  tokenId: null,
  actor: "ada@example.com",
  actorNow: "ada@example.com",
  action: "sign in",
  subject: "",
  subjectId: null,
  address: null,
  times: 1,
  lastAt: null,
  ...part,
});

it("offers everybody who did something once, by the name they have now", () => {
  const rows = [
    row({ actorNow: "countess@example.com" }),
    row({}),
    row({ actorId: "b", actor: "bob", actorNow: null }),
  ];
  expect(actorsIn(rows, "")).toEqual([
    { value: "b", label: "bob" },
    { value: "a", label: "countess@example.com" },
  ]);
});

it("leaves the hub itself out, which has no id to ask for", () => {
  expect(actorsIn([row({ actorId: null, actor: "hub" })], "")).toEqual([]);
});

it("keeps what is chosen when nothing fits", () => {
  expect(actorsIn([], "gone")).toEqual([{ value: "gone", label: "gone" }]);
  expect(actionsIn([], "sign out")).toEqual([{ value: "sign out", label: "sign out" }]);
});

it("offers each action once, in the order of the alphabet, with what cannot be seen made visible", () => {
  const rows = [
    row({ action: "sign out" }),
    row({ action: "sign in" }),
    row({ action: "sign in" }),
    row({ action: "a\u202eb" }),
  ];
  const labels = actionsIn(rows, "").map(({ label }) => label);
  expect(labels.slice(1)).toEqual(["sign in", "sign out"]);
  expect(labels[0]).not.toContain("\u202e");
});
