import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { duplexPair } from "node:stream";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { connectSigner } from "./connect-signer.ts";
import { createSigner } from "./answer.ts";
import { deriveMasterKey, refuseWeakSecret, seal, unseal } from "./seal.ts";
import { serveSigner } from "./serve.ts";

const SECRET = "a secret of at least thirty-two characters";
const OTHER = "another text that nobody else could know";
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
  folder = await mkdtemp(join(tmpdir(), "tidemark-signer-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe("a sealed text", () => {
  const key = deriveMasterKey(SECRET, 1);

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

  it("opens as an earlier release wrote it", () => {
    const earlier =
      "tm1.1.3xeMhh4juUMpfbG_.UlV6aDQPLU4PgXp9Jrxz2jQohmP75ORp5P0VGPBAbF28h4Ppt7mQ3T0jYXkG4-xL.Pn87F5YfdXe-E4Rq" +
      ".sSxP9AwOLnmdsxx_B-b9L6GJUdEaNlH-KNb3MsvG-xi1B05yOGQqTF-ia3w";
    expect(unseal(key, "ProfileSecret|one|sealed", earlier)).toBe("sealed by an earlier release");
  });

  it("has a random key of 256 bits and two random values of 96 bits to itself", () => {
    const pieces = () => seal(key, "A|b|c", "text").split(".").slice(2);
    const [one, two] = [pieces(), pieces()];
    const lengths = one.map((piece) => Buffer.from(piece, "base64url").length);
    expect(lengths).toEqual([12, 32 + 16, 12, 4 + 16]);
    expect(one.filter((piece) => two.includes(piece))).toEqual([]);
  });

  it("is different each time and never shows the text", () => {
    const [one, two] = [seal(key, "A|b|c", "planted"), seal(key, "A|b|c", "planted")];
    expect(one).not.toBe(two);
    expect(one).not.toContain(Buffer.from("planted").toString("base64url"));
  });
});

describe("the master key", () => {
  it("is made once, for an empty database, in a file only its owner reads", async () => {
    const { sealed: canary } = await createSigner({ secret: null, dataFolder: folder }).open({ canary: null });
    const file = join(folder, "master.key");
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const before = await readFile(file, "utf8");
    const again = await createSigner({ secret: null, dataFolder: folder }).open({ canary });
    expect(again).toEqual({ sealed: canary, keyVersion: 1, isRewrapDue: false });
    expect(await readFile(file, "utf8")).toBe(before);
  });

  it("of which only a part fits on the disk leaves no file, so that the next start makes one", async () => {
    const at = JSON.stringify(join(import.meta.dirname, "master-key.ts"));
    const program = `const { createMasterSecret } = await import(${at}); await createMasterSecret(${JSON.stringify(folder)});`;
    const line = ["-c", 'ulimit -f 0; exec "$0" --eval "$1"', process.execPath, program];
    expect(() => execFileSync("sh", line, { stdio: "ignore" })).toThrow();
    expect(await readdir(folder)).toEqual([]);
    await createSigner({ secret: null, dataFolder: folder }).open({ canary: null });
    expect(await readdir(folder)).toEqual(["master.key"]);
  });

  it("is not replaced by a new one when the database holds sealed keys", async () => {
    const { sealed: canary } = await createSigner({ secret: SECRET, dataFolder: folder }).open({ canary: null });
    await expect(createSigner({ secret: null, dataFolder: folder }).open({ canary })).rejects.toMatchObject({
      code: "MASTER_KEY_MISSING",
    });
    await expect(stat(join(folder, "master.key"))).rejects.toThrow();
  });

  it("is refused when it is not the one of this database", async () => {
    const { sealed: canary } = await createSigner({ secret: SECRET, dataFolder: folder }).open({ canary: null });
    await writeFile(join(folder, "master.key"), `${OTHER}\n`);
    await expect(createSigner({ secret: null, dataFolder: folder }).open({ canary })).rejects.toMatchObject({
      code: "MASTER_KEY_WRONG",
    });
  });

  it("in quotes of an env file is refused for a new database; for an old one it is said where it does not fit", async () => {
    const quoted = `"${SECRET}"`;
    const subject = expect.stringMatching(/^TIDEMARK_SECRET, whose value has quotes around it/) as string;
    const open = (secret: string, canary: string | null) =>
      createSigner({ secret, dataFolder: folder }).open({ canary });
    await expect(open(quoted, null)).rejects.toMatchObject({ code: "BAD_INPUT", context: { subject } });
    const { sealed: canary } = await open(SECRET, null);
    await expect(open(quoted, canary)).rejects.toMatchObject({ code: "MASTER_KEY_WRONG", context: { subject } });
    const old = seal(deriveMasterKey(quoted, 1), "Canary|1|sealed", "tidemark canary v1");
    await expect(open(quoted, old)).resolves.toMatchObject({ keyVersion: 1 });
  });

  it.each([
    ["short", "short"],
    ["one character over and over", "x".repeat(44)],
    ["one word over and over", "tidemark-hub".repeat(4)],
    ["a placeholder", "please-change-me-before-you-use-this-hub"],
    ["the text of an example", "an-example-secret-of-41-characters-for-us"],
    ["a password of dictionary words", "the-password-of-our-tidemark-hub-in-2026"],
  ])("is refused when it is %s, for a new database and for an old one", async (_, secret) => {
    const weak = expect.objectContaining({ code: "MASTER_KEY_WEAK" });
    await expect(createSigner({ secret, dataFolder: folder }).open({ canary: null })).rejects.toEqual(weak);
    const canary = seal(deriveMasterKey(secret, 1), "Canary|1|sealed", "tidemark canary v1");
    await expect(createSigner({ secret, dataFolder: folder }).open({ canary })).rejects.toEqual(weak);
  });

  it("is strong enough as openssl prints it, in any of its forms", () => {
    for (let round = 0; round < 200; round++) {
      for (const form of ["base64", "hex", "base64url"] as const) refuseWeakSecret(randomBytes(32).toString(form));
      refuseWeakSecret(randomBytes(16).toString("hex"));
    }
  });
});

describe("a master key that is replaced", () => {
  const place = "ProfileSecret|one|sealed";
  const signerWith = (secret: string | null, previous: string | null = null) =>
    createSigner({ secret, previous, dataFolder: folder });
  const firstCanary = async (secret = SECRET) => (await signerWith(secret).open({ canary: null })).sealed;

  it("still opens what it sealed, while everything new is sealed with its successor", async () => {
    const canary = await firstCanary();
    const old = signerWith(SECRET);
    await old.open({ canary });
    const before = await old.seal({ place, credential });
    const both = signerWith(OTHER, SECRET);
    expect(await both.open({ canary })).toEqual({ sealed: canary, keyVersion: 2, isRewrapDue: true });
    const after = await both.rewrap({ place, sealed: before.sealed });
    expect(after).toEqual({ sealed: expect.stringMatching(/^tm1\.2\./), keyVersion: 2 });
    expect(await both.rewrap({ place, sealed: after.sealed })).toEqual(after);
    const operations = [{ op: "head" as const, key: "runs/a/file" }];
    for (const { sealed } of [before, after]) {
      const { requests } = await both.sign({ place, sealed, access, operations, lifetimeMs: 60_000 });
      expect(requests[0]?.url).toContain("X-Amz-Credential=AKIAEXAMPLE%2F");
    }
    expect((await both.seal({ place, credential })).keyVersion).toBe(2);
    const elsewhere = both.rewrap({ place: "ProfileSecret|two|sealed", sealed: before.sealed });
    await expect(elsewhere).rejects.toMatchObject({ code: "MASTER_KEY_WRONG" });
  });

  it("shares no key of its own with its successor's text", async () => {
    const canary = await firstCanary();
    const both = signerWith(OTHER, SECRET);
    await both.open({ canary });
    const { sealed } = await both.rewrap({ place: "Canary|1|sealed", sealed: canary });
    const [, , ...before] = canary.split(".");
    const [, , ...after] = sealed.split(".");
    expect(after.filter((piece) => before.includes(piece))).toEqual([]);
  });

  it("is refused when neither it nor its successor opens the canary", async () => {
    const canary = await firstCanary();
    const wrong = signerWith(OTHER, "a third text that nobody else could know");
    await expect(wrong.open({ canary })).rejects.toMatchObject({ code: "MASTER_KEY_WRONG" });
    await expect(signerWith(null, SECRET).open({ canary })).rejects.toMatchObject({ code: "MASTER_KEY_MISSING" });
  });

  it("may be a weak one, or it could not be replaced", async () => {
    const canary = seal(deriveMasterKey("short", 1), "Canary|1|sealed", "tidemark canary v1");
    await expect(signerWith(SECRET, "short").open({ canary })).resolves.toMatchObject({ isRewrapDue: true });
  });

  it("is not asked for once its successor opens the canary", async () => {
    const canary = seal(deriveMasterKey(OTHER, 7), "Canary|1|sealed", "tidemark canary v1");
    const opened = { sealed: canary, keyVersion: 7, isRewrapDue: false };
    await expect(signerWith(OTHER, SECRET).open({ canary })).resolves.toEqual(opened);
    await expect(signerWith(OTHER).open({ canary })).resolves.toEqual(opened);
  });

  it("gets a new key file when its own was renamed, and one only", async () => {
    const { sealed: canary } = await signerWith(null).open({ canary: null });
    await rename(join(folder, "master.key"), join(folder, "master.key.previous"));
    expect(await signerWith(null).open({ canary })).toMatchObject({ keyVersion: 2, isRewrapDue: true });
    const made = await readFile(join(folder, "master.key"), "utf8");
    // As after a kill between the new file and the change of the database.
    expect(await signerWith(null).open({ canary })).toMatchObject({ keyVersion: 2, isRewrapDue: true });
    expect(await readFile(join(folder, "master.key"), "utf8")).toBe(made);
    expect((await stat(join(folder, "master.key.previous"))).mode & 0o777).toBe(0o600);
  });
});

describe("the signer over its pipe", () => {
  const connected = () => {
    const [here, there] = duplexPair();
    const served = serveSigner(createSigner({ secret: SECRET, dataFolder: folder }), there);
    return { signer: connectSigner(here), here, served };
  };

  it("signs with a credential it gives out to nobody", async () => {
    const { signer, here, served } = connected();
    await signer.open({ canary: null });
    const place = "ProfileSecret|one|sealed";
    const { sealed } = await signer.seal({ place, credential });
    expect(sealed).not.toContain(credential.secretAccessKey);
    const operations = [{ op: "head" as const, key: "runs/a/file" }];
    const { requests } = await signer.sign({ place, sealed, access, operations, lifetimeMs: 60_000 });
    expect(requests[0]?.url).toMatch(/^http:\/\/127\.0\.0\.1:9000\/training\/runs\/a\/file\?.*X-Amz-Signature=/);
    const { headers } = await signer.signRequest({
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
    const { signer } = connected();
    await expect(signer.seal({ place: "A|b|c", credential })).rejects.toMatchObject({ code: "INTERNAL" });
  });

  it("gives the code of a fault and none of its details", async () => {
    const { signer } = connected();
    await signer.open({ canary: null });
    await expect(
      signer.sign({ place: "ProfileSecret|one|sealed", sealed: "x", access, operations: [], lifetimeMs: 60_000 }),
    ).rejects.toMatchObject({ code: "MASTER_KEY_WRONG", context: { op: "unseal" } });
  });

  it("refuses a message that is not in its list, and goes on", async () => {
    const { signer, here } = connected();
    here.write(`{"id":900,"call":"export","input":{}}\nnot json\n`);
    await expect(signer.open({ canary: null })).resolves.toHaveProperty("sealed");
  });

  it("fails what is waiting when the pipe ends", async () => {
    const [here, there] = duplexPair();
    const signer = connectSigner(here);
    const waiting = signer.open({ canary: null });
    there.end();
    await expect(waiting).rejects.toMatchObject({ code: "INTERNAL" });
  });
});

describe("the process of the signer", () => {
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
