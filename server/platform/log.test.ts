import { describe, expect, it } from "vitest";
import { openTestDatabase } from "../testing/test-database.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { createLog } from "./log.ts";

function logged(write: (log: ReturnType<typeof createLog>) => void): string {
  let text = "";
  write(createLog("debug", { write: (line: string) => (text += line) }));
  return text;
}

describe("the log", () => {
  it("keeps secrets out, by the name of their field", () => {
    const text = logged((log) =>
      log.info(
        { request: { headers: { authorization: "Bearer planted", cookie: "tidemark=planted" } }, token: "planted" },
        "x",
      ),
    );
    expect(text).not.toContain("planted");
    expect(text).toContain("[removed]");
  });

  it("keeps signatures and tokens out of error texts, causes included", () => {
    const url = "https://s3/b/k?X-Amz-Signature=planted&X-Amz-Credential=planted&x=1";
    const cause = new Error(`GET ${url} with Bearer planted and tmn_plantedplantedplantedplanted failed`);
    const text = logged((log) => {
      log.error({ error: cause }, "x");
      log.error({ error: new Fault("LINK_DOWN", { cause }) }, "x");
      log.error({ error: new Fault("LINK_DOWN", { subject: url, detail: url }) }, "x");
    });
    expect(text).not.toContain("planted");
    expect(text).toContain("LINK_DOWN");
    expect(text).toContain("https://s3/b/k?");
  });

  it("escapes what controls a terminal or reorders its text, and stays readable as JSON", () => {
    const path = "/api/trpc/x\u009b2J\u001b[31m\u202e";
    const text = logged((log) => log.info({ path }, "a call"));
    expect(text).toMatch(/^[\x20-\x7e]+\n$/);
    expect(JSON.parse(text)).toMatchObject({ path, msg: "a call" });
  });

  it("keeps the values of a refused database call out", async () => {
    const { db, close } = await openTestDatabase();
    const person = { id: "one", email: "planted@example.com", role: "admin", passwordHash: "planted" };
    const create = (createdAt: Date) =>
      db.user.create({ data: { ...person, createdAt } }).catch((error: unknown) => error);
    const refused = await create(new Date(Number.NaN));
    await create(new Date());
    const taken = await create(new Date());
    const text = logged((log) => {
      for (const error of [refused, taken]) {
        log.error({ error }, "x");
        log.error({ error: new Fault("INTERNAL", { cause: error }) }, "x");
      }
    });
    expect(text).toContain("Provided Date object is invalid");
    expect(text).toContain("Unique constraint failed");
    expect(text).not.toContain("planted");
    await close();
  });
});
