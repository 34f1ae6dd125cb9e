import { afterEach, describe, expect, it } from "vitest";
import type { CorsRuleView } from "#protocol/wire/profiles.ts";
import { readCorsRules, writeCorsRules } from "#storage/cors/bucket-cors.ts";
import { CONTROL } from "#storage/testing/spawn-store.ts";
import { openBucketStage } from "#server/testing/stage-bucket.ts";
import { callAs, type TestHub, type TestStore } from "#server/testing/open-test-hub.ts";
import { fault } from "#server/testing/match-fault.ts";

const ORIGIN = "http://hub.test";
const FOREIGN: CorsRuleView = {
  id: "theirs",
  origins: ["*"],
  methods: ["GET"],
  headers: [],
  exposed: [],
  maxAgeSeconds: null,
};

let test: TestHub;
let store: TestStore;
const open = async (flags: readonly string[] = []): Promise<string> => {
  const stage = await openBucketStage(flags);
  ({ test, store } = stage);
  return stage.profileId;
};
afterEach(async () => {
  await test.close();
  await store.close();
});

const admin = () => callAs(test.hub, "admin").profiles;
const clientOf = async (id: string) => (await test.hub.stores.open(id)).client;

describe("the CORS rule of the dashboard", () => {
  it("is shown, written beside the rules of others, read back, and answers a browser's question", async () => {
    const id = await open();
    await writeCorsRules(await clientOf(id), "training", [FOREIGN]);
    const plan = await admin().corsPlan({ id });
    expect(plan).toMatchObject({ origin: ORIGIN, state: "to write", removed: [] });
    expect(plan.added.map(({ origins }) => origins)).toEqual([[ORIGIN]]);
    expect(plan.present.map(({ origins }) => origins)).toEqual([["*"]]);
    const { isWritten, preflights } = await admin().writeCors({ id, digest: plan.digest });
    expect(isWritten).toBe(true);
    expect(preflights).toEqual(
      ["PUT", "GET"].map((method) => ({ method, isAllowed: true, says: "allowed", fault: null })),
    );
    const written = await readCorsRules(await clientOf(id), "training");
    // Ours first: a store answers by the first rule that fits.
    expect(written.map(({ origins }) => origins)).toEqual([[ORIGIN], ["*"]]);
    expect(written[1]).toMatchObject({ methods: ["GET"], exposed: [] });
    const audits = await test.hub.db.audit.findMany({ where: { action: "write CORS rules" } });
    expect(audits.map(({ subject, actor }) => [subject, actor])).toEqual([
      [`training: ${ORIGIN}`, "admin@example.com"],
    ]);
  });

  it("lets a page read what it must, and only that page", async () => {
    const id = await open();
    const { digest } = await admin().corsPlan({ id });
    await admin().writeCors({ id, digest });
    const ask = (origin: string) =>
      fetch(`${store.endpoint}/training/x`, { headers: { origin } }).then(({ headers }) => headers);
    const exposed = (await ask(ORIGIN)).get("access-control-expose-headers")?.toLowerCase() ?? "";
    for (const name of ["etag", "content-range", "x-amz-checksum-crc32", "x-amz-checksum-sha256"]) {
      expect(exposed.split(", ")).toContain(name);
    }
    expect((await ask("https://elsewhere.example")).get("access-control-allow-origin")).toBeNull();
  });

  it("is in place the second time, and a page under another address gets a rule of its own", async () => {
    const id = await open();
    await admin().writeCors({ id, digest: (await admin().corsPlan({ id })).digest });
    expect(await admin().corsPlan({ id })).toMatchObject({ state: "in place", added: [], removed: [] });
    const elsewhere = callAs(test.hub, "admin", { origin: "https://new.example" }).profiles;
    const plan = await elsewhere.corsPlan({ id });
    expect(plan.wanted.map(({ origins }) => origins[0])).toEqual(["https://new.example", ORIGIN]);
    expect(plan.removed).toEqual([]);
  });

  it("is not written over rules that changed since they were shown", async () => {
    const id = await open();
    const { digest } = await admin().corsPlan({ id });
    await writeCorsRules(await clientOf(id), "training", [FOREIGN]);
    await expect(admin().writeCors({ id, digest })).rejects.toEqual(fault("CONFLICT"));
    expect(await readCorsRules(await clientOf(id), "training")).toHaveLength(1);
    expect(await test.hub.db.audit.count({ where: { action: "write CORS rules" } })).toBe(0);
  });

  it("comes as lines to paste where the store has no such call", async () => {
    const id = await open(["--quirks", "no-cors-api"]);
    const plan = await admin().corsPlan({ id });
    expect(plan.state).toBe("by hand");
    expect(plan.says).toMatch(/one setting of the whole server/);
    expect(plan.pastes.map(({ label }) => label)).toContain("aws command line");
    expect(plan.pastes.every(({ text }) => text.includes(ORIGIN) || text.includes("hub.test"))).toBe(true);
    const written = await admin().writeCors({ id, digest: plan.digest });
    expect(written).toMatchObject({ isWritten: false, plan: { state: "by hand" } });
  });

  it("needs none where the store lets every page in", async () => {
    const id = await open(["--quirks", "no-cors-api", "--cors-origin", ORIGIN]);
    const plan = await admin().corsPlan({ id });
    expect(plan.state).toBe("in place");
    expect(plan.says).toContain("nothing has to be done");
  });

  it("says which rights are missing", async () => {
    const id = await open(["--control", CONTROL]);
    const action = { kind: "error", status: 403, code: "AccessDenied" };
    await store.control("POST", "/rules", { op: "GetBucketCors", action });
    const plan = await admin().corsPlan({ id });
    expect(plan).toMatchObject({ state: "by hand" });
    expect(plan.says).toContain("s3:PutBucketCORS");
  });
});
