import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isFault } from "#protocol/faults/fault.ts";
import { FAULTS, type FaultCode } from "#protocol/faults/fault-table.ts";
import {
  addTestNode,
  addTestProfile,
  callAs,
  NOBODY,
  openTestHub,
  type TestHub,
} from "#server/testing/open-test-hub.ts";
import { hubRouter } from "#server/router.ts";
import { ROLES, type Role } from "#protocol/wire/requests.ts";
import type { Meta, Who } from "./trpc.ts";
import type { Caller } from "./caller.ts";

/** Who may call what, written down a second time: a changed declaration has to be changed here on purpose. */
const EXPECTED: Record<Who, string[]> = {
  open: ["auth.status", "auth.setup", "auth.signIn", "auth.acceptInvitation", "auth.resetPassword", "node.enrol"],
  viewer: [
    "auth.signOut",
    "live.watch",
    "fleet.samples",
    "nodes.list",
    "nodes.get",
    "nodes.samples",
    "nodes.lines",
    "nodes.continueFrom",
    "nodes.words",
    "profiles.list",
    "profiles.presets",
    "runs.list",
    "sealing.get",
    "runs.get",
    "checkpoints.get",
    "checkpoints.list",
    "checkpoints.files",
    "checkpoints.search",
    "transfers.list",
    "events.list",
    "losses.list",
    "losses.summary",
    "runs.lineage",
    "runs.timeline",
    "runs.metrics",
    "restores.plan",
    ...["file", "checkpoint", "compare", "curve"].map((name) => `inspect.${name}`),
    ...["percentiles", "series", "list", "export", "regions"].map((name) => `history.${name}`),
    "auth.changePassword",
    "sessions.list",
    "sessions.end",
    "sessions.endOthers",
    "apiTokens.list",
    "apiTokens.create",
    "apiTokens.revoke",
    "upkeep.status",
    "commands.list",
    "jobs.list",
    "jobs.get",
    "jobs.queues",
    "jobs.schedules",
    "jobs.log",
    "jobs.findInLog",
    "groups.accounts.list",
    "groups.list",
    "alerts.rules.list",
    "alerts.channels.list",
    "alerts.active",
    "alerts.history",
    ...["policy", "preview", "trash", "versions"].map((name) => `keeping.${name}`),
    ...["list", "get", "cases", "export", "keys"].map((name) => `benchmarks.${name}`),
    "drills.get",
    "homes.get",
    ...["get", "starts"].map((name) => `thresholds.${name}`),
    "advice.list",
    ...["lookAt", "signReads", "folder", "cors"].map((name) => `browserTransfers.${name}`),
    ...["list", "walk", "versions", "describe", "orphans", "job", "jobs", "usage", "keepsVersions"].map(
      (name) => `bucket.${name}`,
    ),
  ],
  operator: [
    ...["image", "share", "plan", "start", "cancel"].map((name) => `bucket.${name}`),
    "inspect.recognise",
    ...["preview", "start", "cancel"].map((name) => `benchmarks.${name}`),
    "losses.setPrice",
    ...["adopt", "takeRuns", "release", "forgetSums"].map((name) => `adoptions.${name}`),
    "history.setRegions",
    "restores.create",
    "transfers.act",
    "tokens.list",
    "tokens.create",
    "tokens.revoke",
    "nodes.setRuns",
    "runs.handOver",
    "runs.seeLines",
    "commands.send",
    "commands.cancel",
    "jobs.submit",
    "jobs.importKelpie",
    "jobs.cancel",
    "jobs.retry",
    "jobs.setQueueCaps",
    ...["set", "pause", "remove"].map((verb) => `jobs.${verb}Schedule`),
    "jobs.pauseQueue",
    "jobs.resumeQueue",
    ...["act", "setRule", "importRules", "removeRule"].map((name) => `groups.${name}`),
    "alerts.acknowledge",
    "alerts.mute",
    ...["pin", "unpin", "tag", "untag", "note", "trash", "bringBack"].map((name) => `checkpoints.${name}`),
    "keeping.setPolicy",
    "keeping.applyNow",
    "checkpoints.verify",
    ...["start", "preview", "setCap"].map((name) => `restores.${name}`),
    "drills.set",
    "homes.set",
    "thresholds.set",
    ...["dismiss", "bringBack"].map((name) => `advice.${name}`),
    ...["start", "sign", "parts", "finish", "giveUp", "open"].map((name) => `browserTransfers.${name}`),
  ],
  admin: [
    ...["setKey", "removeKey"].map((name) => `benchmarks.${name}`),
    "advice.take",
    "bucket.abortOrphans",
    "profiles.create",
    "profiles.update",
    "profiles.test",
    "profiles.remove",
    "profiles.corsPlan",
    "profiles.writeCors",
    "profiles.readImport",
    "nodes.revoke",
    "nodes.rotateCredential",
    "users.list",
    "users.setRole",
    "sealing.set",
    "sealing.renewKey",
    "sealing.exportKey",
    "sealing.importKey",
    "users.disable",
    "users.enable",
    "users.remove",
    "users.resetPassword",
    "invitations.list",
    "invitations.create",
    "invitations.revoke",
    "audit.list",
    "upkeep.runJanitor",
    ...["create", "update", "remove", "test"].map((name) => `groups.accounts.${name}`),
    "upkeep.confirmDeletions",
    "alerts.test",
    "keeping.emptyNow",
    "settings.list",
    ...["rules", "channels"].flatMap((what) => ["create", "update", "remove"].map((verb) => `alerts.${what}.${verb}`)),
  ],
  node: [
    "hello",
    "stream",
    "progress",
    "record",
    "claimEpoch",
    "announce",
    "sign",
    "commit",
    "doubt",
    "readCheckpoint",
    "releaseKey",
    "homes",
    "confirmComplete",
    "listKept",
    "openPieces",
    "restorePoints",
    "beginCopy",
    "commitCopy",
    "tellSums",
    "findCheckpoint",
    "probeTarget",
    "probed",
    "mayReallocate",
    "takeJob",
    "nextJob",
    "signForJob",
    "readJobPlace",
    "keepLogPart",
    "jobStates",
    "endJob",
    "rotate",
    "benchTarget",
    "benchStart",
    "benchEnd",
    "benchTurn",
    "benchBegin",
    "benchCase",
    "benchSign",
    "goodbye",
  ].map((name) => `node.${name}`),
};

/** What no API token does, whatever its role: sessions and passwords, and all that opens another way in. */
const NOT_FOR_TOKENS = [
  "auth.signOut",
  "auth.changePassword",
  "sessions.list",
  "sessions.end",
  "sessions.endOthers",
  "apiTokens.create",
  "sealing.set",
  "sealing.renewKey",
  "sealing.exportKey",
  "sealing.importKey",
  "users.setRole",
  "users.enable",
  "users.resetPassword",
  "invitations.create",
];

interface Definition {
  procedures: Record<string, { _def: { meta?: Meta } }>;
}
const declared = Object.entries((Reflect.get(hubRouter as object, "_def") as Definition).procedures).map(
  ([path, procedure]) => ({
    path,
    who: procedure._def.meta?.who,
  }),
);
const REFUSALS: readonly FaultCode[] = [
  "NOT_SIGNED_IN",
  "ROLE_REQUIRED",
  "NODE_UNKNOWN",
  "PERSON_REQUIRED",
  "API_TOKEN_REFUSED",
];

let test: TestHub;
let node: Caller;
beforeAll(async () => {
  test = await openTestHub();
  const profileId = await addTestProfile(test.hub, "http://127.0.0.1:9");
  node = (await addTestNode(test.hub, profileId, "gpu-1")).caller;
});
afterAll(() => test.close());

const tokenAs = (role: Role): Caller => ({
  kind: "token",
  person: { id: `id-${role}`, email: `${role}@example.com`, role },
  tokenId: `token-${role}`,
  tokenName: "a program",
});

/** The code a call without any input ends with; null when it got past the guard. */
async function refusalOf(path: string, who: Parameters<typeof callAs>[1]): Promise<FaultCode | null> {
  let target: unknown = callAs(test.hub, who);
  for (const name of path.split(".")) target = Reflect.get(target as object, name);
  try {
    const answer: unknown = await (target as () => Promise<unknown>)();
    if (typeof answer === "object" && answer !== null && Symbol.asyncIterator in answer) {
      await (answer as AsyncGenerator).return(undefined);
    }
    return null;
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined;
    return isFault(cause) && REFUSALS.includes(cause.code) ? cause.code : null;
  }
}

describe("who may call", () => {
  it("is declared by every procedure, as expected", () => {
    const expected = Object.entries(EXPECTED).flatMap(([who, paths]) => paths.map((path) => ({ path, who })));
    const byPath = (a: { path: string }, b: { path: string }) => (a.path < b.path ? -1 : 1);
    expect(declared.toSorted(byPath)).toEqual(expected.toSorted(byPath));
  });

  it.each(declared)("$path: $who", async ({ path, who }) => {
    const isForPeople = who === "viewer" || who === "operator" || who === "admin";
    const refusedForPeople = who === "node" ? "NODE_UNKNOWN" : null;
    expect(await refusalOf(path, NOBODY)).toBe(isForPeople ? "NOT_SIGNED_IN" : refusedForPeople);
    expect(await refusalOf(path, node)).toBe(isForPeople ? "NOT_SIGNED_IN" : null);
    expect(await refusalOf(path, "viewer")).toBe(
      who === "operator" || who === "admin" ? "ROLE_REQUIRED" : refusedForPeople,
    );
    expect(await refusalOf(path, "operator")).toBe(who === "admin" ? "ROLE_REQUIRED" : refusedForPeople);
    expect(await refusalOf(path, "admin")).toBe(refusedForPeople);
    if (NOT_FOR_TOKENS.includes(path)) {
      for (const role of ROLES) expect(await refusalOf(path, tokenAs(role))).toBe("PERSON_REQUIRED");
      return;
    }
    expect(await refusalOf(path, tokenAs("viewer"))).toBe(
      who === "operator" || who === "admin" ? "ROLE_REQUIRED" : refusedForPeople,
    );
    expect(await refusalOf(path, tokenAs("operator"))).toBe(who === "admin" ? "ROLE_REQUIRED" : refusedForPeople);
    expect(await refusalOf(path, tokenAs("admin"))).toBe(refusedForPeople);
  });

  it("gives every code an HTTP status tRPC can carry", () => {
    for (const { http } of Object.values(FAULTS)) expect(http).toBeGreaterThanOrEqual(400);
  });
});
