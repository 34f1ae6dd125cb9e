import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openDatabase, type OpenedDatabase } from "#prisma/open.ts";
import { folderForTests } from "#storage/testing/spawn-store.ts";
import { createSigner } from "./answer.ts";
import { rewrapSecrets } from "./rewrap.ts";
import { benchKeyPlace, jobSecretPlace, sealKeyPlace, secretPlace } from "./secret-place.ts";

const OLD = "a secret of at least thirty-two characters";
const NEW = "another text that nobody else could know";
const PROFILES = 6;
const SEAL_KEY = "seal-key-1";
const JOB = "job-1";

const credential = { accessKeyId: "AKIAEXAMPLE", secretAccessKey: "planted-canary-secret" };
const profileAt = (index: number) => ({
  id: `profile-${index}`,
  version: 1,
  name: `bucket ${index}`,
  provider: "minio",
  bucket: "training",
  region: "us-east-1",
  prefix: "",
  endpoint: "http://127.0.0.1:9",
  addressing: "path",
  accessKeyHint: "MPLE",
  createdAt: new Date(),
  updatedAt: new Date(),
});

let folder = "";
const file = (): string => join(folder, "hub.db");
const signerWith = (secret: string, previous: string | null = null) =>
  createSigner({ secret, previous, dataFolder: folder });

/** Runs `work` with the database open, as one start of a hub would. */
async function opened<T>(work: (db: OpenedDatabase["db"]) => Promise<T>): Promise<T> {
  const { db, close } = await openDatabase(`file:${file()}`);
  try {
    return await work(db);
  } finally {
    await close();
  }
}

beforeEach(async () => {
  folder = await folderForTests("tidemark-rewrap-");
  await opened(async (db) => {
    const signer = signerWith(OLD);
    const { sealed, keyVersion } = await signer.open({ canary: null });
    await db.canary.create({ data: { id: 1, sealed, keyVersion, createdAt: new Date() } });
    for (let index = 0; index < PROFILES; index++) {
      const { id, ...rest } = profileAt(index);
      await db.profile.create({ data: { id, ...rest } });
      const secret = await signer.seal({ place: secretPlace(id), credential });
      await db.profileSecret.create({ data: { profileId: id, ...secret, updatedAt: new Date() } });
    }
    const { publicKey, ...key } = await signer.makeSealKey({ place: sealKeyPlace(SEAL_KEY) });
    const createdAt = new Date();
    await db.sealKey.create({ data: { id: SEAL_KEY, profileId: "profile-0", publicKey, createdAt } });
    await db.sealKeySecret.create({ data: { keyId: SEAL_KEY, ...key, updatedAt: createdAt } });
    const texts = { queue: "default", name: JOB, run: JOB, state: "waiting", ownerId: "x", owner: "x", spec: "{}" };
    const job = { id: JOB, ...texts, priority: 0, rank: 0, dueAt: createdAt, createdAt, mostFailures: 3 };
    await db.job.create({ data: job });
    const ofJob = await signer.sealText({ place: jobSecretPlace(JOB), text: JSON.stringify({ HF_TOKEN: "hf_x" }) });
    await db.jobSecret.create({ data: { jobId: JOB, ...ofJob } });
  });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** What stands in the database: the versions, and with which of the two keys alone all of it opens. */
const state = () =>
  opened(async (db) => {
    const canary = await db.canary.findUniqueOrThrow({ where: { id: 1 } });
    const secrets = await db.profileSecret.findMany();
    const keys = await db.sealKeySecret.findMany();
    const ofJobs = await db.jobSecret.findMany();
    const opens = async (secret: string): Promise<boolean> => {
      const signer = signerWith(secret);
      try {
        await signer.open({ canary: canary.sealed });
        for (const { profileId, sealed } of secrets) await signer.rewrap({ place: secretPlace(profileId), sealed });
        for (const { keyId, sealed } of keys) await signer.exportSealKey({ place: sealKeyPlace(keyId), sealed });
        for (const { jobId, sealed } of ofJobs) await signer.openText({ place: jobSecretPlace(jobId), sealed });
        return true;
      } catch {
        return false;
      }
    };
    const versions = new Set([
      canary.keyVersion,
      ...[...secrets, ...keys, ...ofJobs].map(({ keyVersion }) => keyVersion),
    ]);
    return { versions: [...versions], count: secrets.length, old: await opens(OLD), new: await opens(NEW) };
  });
const UNDER_OLD = { versions: [1], count: PROFILES, old: true, new: false };
const UNDER_NEW = { versions: [2], count: PROFILES, old: false, new: true };

/** A process of its own that changes the key and is killed with SIGKILL when `moment` has come. */
async function changeAndDie(moment: string): Promise<void> {
  const at = (path: string) => JSON.stringify(join(import.meta.dirname, path));
  const program = `
    const die = () => process.kill(process.pid, "SIGKILL");
    const { openDatabase } = await import(${at("../../prisma/open.ts")});
    const { createSigner } = await import(${at("answer.ts")});
    const { rewrapSecrets } = await import(${at("rewrap.ts")});
    const { db } = await openDatabase(${JSON.stringify(`file:${file()}`)});
    const signer = createSigner({ secret: ${JSON.stringify(NEW)}, previous: ${JSON.stringify(OLD)}, dataFolder: ${JSON.stringify(folder)} });
    const seen = {};
    const step = (name) => { seen[name] = (seen[name] ?? 0) + 1; if (\`\${name} \${seen[name]}\` === ${JSON.stringify(moment)}) die(); };
    const watched = { open: signer.open, rewrap: (input) => { step("sealing"); return signer.rewrap(input); } };
    const stepping = (name) => ({ args, query }) => { step(name); return query(args); };
    const slow = db.$extends({ query: {
      profileSecret: { updateMany: stepping("writing") },
      canary: { update: stepping("canary") },
      $queryRaw: stepping("committed"),
    } });
    await rewrapSecrets(slow, watched, Date.now());
    process.exit(3);
  `;
  const child = spawn(process.execPath, ["--eval", program], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const [, signal] = (await once(child, "exit")) as [number | null, string | null];
  if (signal !== "SIGKILL") throw new Error(`it was to be killed at "${moment}": ${said}`);
}

describe("changing the master key", () => {
  it("seals every secret and the canary anew, writes it down, and does nothing a second time", async () => {
    expect(await state()).toEqual(UNDER_OLD);
    const change = () => opened((db) => rewrapSecrets(db, signerWith(NEW, OLD), Date.now()));
    expect(await change()).toEqual({ keyVersion: 2, rewrapped: PROFILES + 3 });
    expect(await state()).toEqual(UNDER_NEW);
    expect(await change()).toEqual({ keyVersion: 2, rewrapped: 0 });
    const [row] = await opened((db) => db.audit.findMany());
    expect(row).toMatchObject({ action: "change master key", subject: "version 2" });
  });

  it("takes the keys of benchmarks along", async () => {
    const place = benchKeyPlace("profile-1");
    await opened(async (db) => {
      const signer = signerWith(OLD);
      const { sealed } = await db.canary.findUniqueOrThrow({ where: { id: 1 } });
      await signer.open({ canary: sealed });
      const key = await signer.sealText({ place, text: "lent to nodes" });
      const rest = { accessKeyHint: "ENCH", hasGrant: false, updatedAt: new Date() };
      await db.profileBenchKey.create({ data: { profileId: "profile-1", ...key, ...rest } });
    });
    const changed = await opened((db) => rewrapSecrets(db, signerWith(NEW, OLD), Date.now()));
    expect(changed).toEqual({ keyVersion: 2, rewrapped: PROFILES + 4 });
    const text = await opened(async (db) => {
      const signer = signerWith(NEW);
      await signer.open({ canary: (await db.canary.findUniqueOrThrow({ where: { id: 1 } })).sealed });
      const { sealed } = await db.profileBenchKey.findUniqueOrThrow({ where: { profileId: "profile-1" } });
      return signer.openText({ place, sealed });
    });
    expect(text).toEqual({ text: "lent to nodes" });
  });

  it("leaves nothing in the files that the old key opens", async () => {
    const before = await opened((db) => db.profileSecret.findMany());
    const { db, close } = await openDatabase(`file:${file()}`);
    await rewrapSecrets(db, signerWith(NEW, OLD), Date.now());
    for (const name of ["hub.db", "hub.db-wal"]) {
      const bytes = await readFile(join(folder, name));
      expect(before.filter(({ sealed }) => bytes.includes(sealed))).toEqual([]);
    }
    await close();
  });

  it.each([`sealing ${PROFILES}`, "writing 3", "canary 1"])(
    "killed at %s, it is as if it had not begun, and the same two keys end it",
    async (moment) => {
      await changeAndDie(moment);
      expect(await state()).toEqual(UNDER_OLD);
      await opened((db) => rewrapSecrets(db, signerWith(NEW, OLD), Date.now()));
      expect(await state()).toEqual(UNDER_NEW);
    },
  );

  it("killed when it is written but before that was said, it is done, and the new key alone is enough", async () => {
    await changeAndDie("committed 1");
    expect(await state()).toEqual(UNDER_NEW);
    await expect(opened((db) => rewrapSecrets(db, signerWith(NEW), Date.now()))).resolves.toMatchObject({
      rewrapped: 0,
    });
  });

  it("writes nothing when a secret was changed meanwhile, or does not open", async () => {
    await opened(async (db) => {
      const signer = signerWith(NEW, OLD);
      const changing = {
        open: signer.open,
        rewrap: async (input: Parameters<typeof signer.rewrap>[0]) => {
          if (input.place === secretPlace("profile-3")) {
            await db.profileSecret.update({ where: { profileId: "profile-5" }, data: { sealed: "changed" } });
          }
          return signer.rewrap(input);
        },
      };
      await expect(rewrapSecrets(db, changing, Date.now())).rejects.toMatchObject({ code: "CONFLICT" });
      await expect(rewrapSecrets(db, signer, Date.now())).rejects.toMatchObject({ code: "MASTER_KEY_WRONG" });
      expect(await db.profileSecret.count({ where: { keyVersion: 1 } })).toBe(PROFILES);
    });
  });

  it("knows every sealed column of the schema", () => {
    const schema = readFileSync(join(import.meta.dirname, "../../prisma/schema.prisma"), "utf8");
    const sealed = [...schema.matchAll(/^model (\w+) \{([^}]*)\}/gm)]
      .filter(([, , body]) => /^\s+sealed\w*\s+String/m.test(body ?? ""))
      .map(([, name]) => name);
    const models = [
      "Canary",
      "ProfileSecret",
      "AlertChannelSecret",
      "ProfileBenchKey",
      "SealKeySecret",
      "JobSecret",
      "JobScheduleSecret",
      "GroupAccountSecret",
    ];
    expect(new Set(sealed)).toEqual(new Set(models));
  });
});

describe("a copy of the database without its master key", () => {
  it("is of no use: it holds no secret in the clear and opens with no other key", async () => {
    const bytes = await readFile(file());
    for (const planted of [credential.secretAccessKey, credential.accessKeyId, OLD]) {
      expect(bytes.includes(planted)).toBe(false);
    }
    const canary = await opened((db) => db.canary.findUniqueOrThrow({ where: { id: 1 } }));
    const missing = createSigner({ secret: null, dataFolder: folder }).open({ canary: canary.sealed });
    await expect(missing).rejects.toMatchObject({ code: "MASTER_KEY_MISSING" });
    await expect(signerWith(NEW).open({ canary: canary.sealed })).rejects.toMatchObject({ code: "MASTER_KEY_WRONG" });
  });
});
