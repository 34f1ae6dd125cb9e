import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { duplexPair } from "node:stream";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { connectKeeper } from "../hub/connect-keeper.ts";
import { createKeeper } from "./answer.ts";
import { deriveMasterKey, seal, unseal } from "./seal.ts";
import { serveKeeper } from "./serve.ts";

const SECRET = "a secret of at least thirty-two characters";
const credential = { accessKeyId: "AKIAEXAMPLE", secretAccessKey: "planted-canary-secret" };
const access = {
  endpoint: "http://127.0.0.1:9000",
  region: "us-east-1",
  bucket: "training",
  addressing: "path" as const,
  traits: {
    minPartBytes: 5_242_880,
    maxPartBytes: 5_368_709_120,
    maxParts: 10_000,
    preferredPartBytes: 16_777_216,
    checksum: "crc32" as const,
    probeChecksum: false,
    conditionalWrites: true,
    trustEtag: true,
    startConnections: 8,
    mostConnections: 96,
    keepAliveMs: 4000,
  },
};

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-keeper-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe("a sealed text", () => {
  const key = deriveMasterKey(SECRET);

  it("opens only at the place it was sealed for", () => {
    const sealed = seal(key, "ProfileSecret|one|sealed", "text");
    expect(unseal(key, "ProfileSecret|one|sealed", sealed)).toBe("text");
    for (const elsewhere of ["ProfileSecret|two|sealed", "Canary|one|sealed", "ProfileSecret|one|other"]) {
      expect(() => unseal(key, elsewhere, sealed)).toThrow(expect.objectContaining({ code: "MASTER_KEY_WRONG" }));
    }
  });

  it("does not open when it is marked with another version of the key", () => {
    const sealed = seal(key, "ProfileSecret|one|sealed", "text").replace(/^tm1\.1\./, "tm1.2.");
    expect(() => unseal(key, "ProfileSecret|one|sealed", sealed)).toThrow(
      expect.objectContaining({ code: "MASTER_KEY_WRONG" }),
    );
    expect(() => unseal({ ...key, version: 2 }, "ProfileSecret|one|sealed", sealed)).toThrow(
      expect.objectContaining({ code: "MASTER_KEY_WRONG" }),
    );
  });

  it("does not open after a single bit of any piece has changed", () => {
    const pieces = seal(key, "ProfileSecret|one|sealed", "text").split(".");
    for (const index of [2, 3, 4, 5]) {
      const bytes = Buffer.from(pieces[index] ?? "", "base64url");
      bytes[0] = (bytes[0] ?? 0) ^ 1;
      const changed = pieces.with(index, bytes.toString("base64url")).join(".");
      expect(() => unseal(key, "ProfileSecret|one|sealed", changed)).toThrow();
    }
  });

  it("is different each time and never shows the text", () => {
    const [one, two] = [seal(key, "A|b|c", "planted"), seal(key, "A|b|c", "planted")];
    expect(one).not.toBe(two);
    expect(one).not.toContain(Buffer.from("planted").toString("base64url"));
  });
});

describe("the master key", () => {
  it("is made once, for an empty database, in a file only its owner reads", async () => {
    const { canary } = await createKeeper({ secret: null, dataFolder: folder }).open({ canary: null });
    const file = join(folder, "master.key");
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const before = await readFile(file, "utf8");
    await expect(createKeeper({ secret: null, dataFolder: folder }).open({ canary })).resolves.toEqual({ canary });
    expect(await readFile(file, "utf8")).toBe(before);
  });

  it("is not replaced by a new one when the database holds sealed keys", async () => {
    const { canary } = await createKeeper({ secret: SECRET, dataFolder: folder }).open({ canary: null });
    await expect(createKeeper({ secret: null, dataFolder: folder }).open({ canary })).rejects.toMatchObject({
      code: "MASTER_KEY_MISSING",
    });
    await expect(stat(join(folder, "master.key"))).rejects.toThrow();
  });

  it("is refused when it is not the one of this database", async () => {
    const { canary } = await createKeeper({ secret: SECRET, dataFolder: folder }).open({ canary: null });
    await writeFile(join(folder, "master.key"), `${"x".repeat(44)}\n`);
    await expect(createKeeper({ secret: null, dataFolder: folder }).open({ canary })).rejects.toMatchObject({
      code: "MASTER_KEY_WRONG",
    });
  });

  it("is refused when it is short", async () => {
    await expect(createKeeper({ secret: "short", dataFolder: folder }).open({ canary: null })).rejects.toMatchObject({
      code: "MASTER_KEY_WEAK",
    });
  });
});

describe("the keeper over its pipe", () => {
  const connected = () => {
    const [here, there] = duplexPair();
    const served = serveKeeper(createKeeper({ secret: SECRET, dataFolder: folder }), there);
    return { keeper: connectKeeper(here), here, served };
  };

  it("signs with a credential it gives out to nobody", async () => {
    const { keeper, here, served } = connected();
    await keeper.open({ canary: null });
    const place = "ProfileSecret|one|sealed";
    const { sealed } = await keeper.seal({ place, credential });
    expect(sealed).not.toContain(credential.secretAccessKey);
    const operations = [{ op: "head" as const, key: "runs/a/file" }];
    const { requests } = await keeper.sign({ place, sealed, access, operations, lifetimeMs: 60_000 });
    expect(requests[0]?.url).toMatch(/^http:\/\/127\.0\.0\.1:9000\/training\/runs\/a\/file\?.*X-Amz-Signature=/);
    const { headers } = await keeper.signRequest({
      place,
      sealed,
      region: "us-east-1",
      request: {
        method: "GET",
        url: "http://127.0.0.1:9000/training?list-type=2",
        headers: {},
        payloadHash: "UNSIGNED-PAYLOAD",
      },
    });
    expect(headers["authorization"]).toContain("Credential=AKIAEXAMPLE/");
    here.end();
    await served;
  });

  it("does nothing before the key was checked", async () => {
    const { keeper } = connected();
    await expect(keeper.seal({ place: "A|b|c", credential })).rejects.toMatchObject({ code: "INTERNAL" });
  });

  it("gives the code of a fault and none of its details", async () => {
    const { keeper } = connected();
    await keeper.open({ canary: null });
    await expect(
      keeper.sign({ place: "ProfileSecret|one|sealed", sealed: "x", access, operations: [], lifetimeMs: 60_000 }),
    ).rejects.toMatchObject({ code: "MASTER_KEY_WRONG", context: { op: "unseal" } });
  });

  it("refuses a message that is not in its list, and goes on", async () => {
    const { keeper, here } = connected();
    here.write(`{"id":900,"call":"export","input":{}}\nnot json\n`);
    await expect(keeper.open({ canary: null })).resolves.toHaveProperty("canary");
  });

  it("fails what is waiting when the pipe ends", async () => {
    const [here, there] = duplexPair();
    const keeper = connectKeeper(here);
    const waiting = keeper.open({ canary: null });
    there.end();
    await expect(waiting).rejects.toMatchObject({ code: "INTERNAL" });
  });
});

describe("the keeper's process", () => {
  it("loads nothing that could talk to a network", () => {
    const loaded = (modules: readonly string[]): string[] => {
      const imports = modules.map((name) => `await import(${JSON.stringify(name)});`).join("");
      const print = `console.log(JSON.stringify(process.moduleLoadList.filter((name) => /^NativeModule https?$/.test(name))));`;
      const args = ["--input-type=module", "--eval", `${imports}${print}`];
      return JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" })) as string[];
    };
    const own = ["answer.ts", "serve.ts"].map((file) => join(import.meta.dirname, file));
    expect(loaded(own)).toEqual([]);
    expect(loaded([...own, "node:https"])).toContain("NativeModule https");
  });
});
