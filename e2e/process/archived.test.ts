import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { archiveObjects, GLACIER, type StoredAs } from "../stage/archive-objects.ts";
import { keysInEnv } from "../stage/keys-in-env.ts";
import { putOdd, serveOdd } from "../stage/odd-objects.ts";
import { closeAlone, folderOf, openAlone, startAlone, type Alone } from "../stage/open-alone.ts";
import { runOnce } from "../stage/run-once.ts";
import type { RunningStore } from "../stage/start-store.ts";
import { testedWorker } from "../stage/start-worker.ts";
import { hashFolder, writeCheckpoint } from "../stage/write-checkpoint.ts";

/** Objects that the store has moved to an archive, without a hub. */

const KIB = 1024;
const READY: StoredAs = { storageClass: "GLACIER", restore: 'ongoing-request="false", expiry-date="Fri, 21 Dec 2029"' };
const ASKED: StoredAs = { storageClass: "DEEP_ARCHIVE", restore: 'ongoing-request="true"' };
const TIERED: StoredAs = { storageClass: "INTELLIGENT_TIERING" };
const TIERED_COLD: StoredAs = { ...TIERED, archiveStatus: "ARCHIVE_ACCESS" };

let alone: Alone;
/** The store as it is when a rule has moved some of its objects. */
let cold: RunningStore;
let close: () => Promise<void>;
/** How an object is stored; each test sets its own. */
let storedAs: (key: string) => StoredAs | null = () => null;
let asked: string[] = [];
let here: string;
let round = 0;

const written = new Map<number, string>();
const ENDS = "process.exit(0)";

beforeAll(async () => {
  alone = await openAlone();
  for (const step of [10, 20]) {
    const folder = folderOf(alone, "trainer");
    written.set(step, writeCheckpoint({ folder, step, modelBytes: 1_000_000, optimizerBytes: 300_000, loss: 1 }));
    const node = await startAlone(alone, { run: "llama", prefix: "ckpts", name: "trainer", program: ENDS });
    expect(await node.exited).toMatchObject({ code: 0 });
  }
  const odd = await serveOdd(alone.store, (answer) => {
    asked.push(`${answer.method} ${new URL(answer.url, "http://store").pathname.split("/").at(-1)}`);
    return archiveObjects((key) => storedAs(key))(answer);
  });
  cold = { ...alone.store, endpoint: odd.endpoint };
  ({ close } = odd);
});
afterAll(async () => {
  await close();
  await closeAlone(alone);
});
beforeEach(() => {
  storedAs = () => null;
  asked = [];
  here = join(alone.dir, "out", `t${++round}`);
});

const tidemark = (...args: string[]) =>
  runOnce(testedWorker(), args, { env: { ...keysInEnv(cold), TIDEMARK_STATE: join(alone.dir, "laptop") } });
const restore = (...args: string[]) => tidemark("restore", ...args, "--to", `s3://${cold.bucket}/ckpts`);

describe("a restore without a hub", () => {
  /** The prefix of a step's files, by step. */
  const attempts = new Map<number, string>();
  beforeAll(async () => {
    const listed = await tidemark("ls", "--recursive", `s3://${cold.bucket}/ckpts/`);
    for (const [, step, attempt] of listed.stdout.matchAll(/manifests\/llama\/e000001\/s0*(\d+)-\S*-(\w+)\.json/g))
      attempts.set(Number(step), `ckpts/runs/llama/e000001/${attempt}/`);
    expect([...attempts.keys()]).toEqual([10, 20]);
  });
  const isIn = (step: number, key: string, name = "") => key.startsWith(`${attempts.get(step)}${name}`);
  const readsOf = (name: string) => asked.filter((one) => one === `GET ${name}`);

  test("falls back to the newest checkpoint that can be read, names the files, and asks for no byte of them", async () => {
    storedAs = (key) => (isIn(20, key, "model") || isIn(20, key, "optim") ? GLACIER : null);
    const restored = await restore("llama", here);
    expect(restored, restored.stderr).toMatchObject({ code: 0 });
    expect(restored.stdout).toContain(`Restored llama step 10 to ${here}. Step 20 is archived.`);
    expect(restored.stderr).toContain(
      "Restoring step 10 of llama in place of 20. model.safetensors: The object is archived",
    );
    expect(restored.stderr).toContain("(model.safetensors, optimizer.safetensors)");
    expect(hashFolder(here)).toEqual(hashFolder(written.get(10) ?? ""));
    expect(readsOf("config.json")).toHaveLength(1);
  });

  test("of a step that a person names is refused before it writes anything", async () => {
    storedAs = (key) => (isIn(20, key, "model") ? GLACIER : isIn(20, key, "optim") ? ASKED : null);
    const refused = await restore("llama@20", join(here, "deep", "step"));
    expect(refused.code).toBe(4);
    expect(refused.stderr).toContain("model.safetensors: The object is archived, so its bytes cannot be read now");
    expect(refused.stderr).toContain("(model.safetensors, optimizer.safetensors (is being restored))");
    expect(refused.stderr).toContain("Restore it first where it is stored");
    expect(existsSync(here)).toBe(false);
    expect(asked.filter((one) => /^GET (model|optimizer|config)/.test(one))).toEqual([]);
    const would = await restore("llama@20", here, "--dry-run");
    expect([would.code, would.stdout]).toEqual([4, expect.stringContaining("It would be refused: model.safetensors")]);
    const some = await restore("llama@20", here, "--only", "*.json");
    expect(some, some.stderr).toMatchObject({ code: 0 });
    expect(readdirSync(here).toSorted()).toEqual(["config.json", "trainer_state.json"]);
  });

  test("says to wait while the store restores the objects, and reads them when it has", async () => {
    storedAs = (key) => (isIn(20, key, "model") ? ASKED : null);
    const waits = await restore("llama@20", here);
    expect([waits.code, waits.stderr]).toEqual([
      4,
      expect.stringContaining(
        "model.safetensors: The object is being restored from its archive, so its bytes cannot be read yet. Start again when the store has finished",
      ),
    ]);
    storedAs = (key) => (isIn(20, key) ? READY : null);
    expect(await restore("llama@20", here)).toMatchObject({ code: 0 });
    expect(hashFolder(here)).toEqual(hashFolder(written.get(20) ?? ""));
  });

  test("finds an archive tier of INTELLIGENT_TIERING, and asks about no object that cannot be in one", async () => {
    storedAs = (key) => (isIn(20, key, "model") ? TIERED_COLD : TIERED);
    const refused = await restore("llama@20", here);
    expect([refused.code, refused.stderr]).toEqual([
      4,
      expect.stringContaining("model.safetensors: The object is archived"),
    ]);
    expect(asked.filter((one) => one.startsWith("HEAD ")).toSorted()).toEqual([
      "HEAD model.safetensors",
      "HEAD optimizer.safetensors",
    ]);
    storedAs = () => ({ storageClass: "GLACIER_IR" });
    asked = [];
    expect(await restore("llama@20", here)).toMatchObject({ code: 0 });
    expect(asked.filter((one) => one.startsWith("HEAD "))).toEqual([]);
  });

  test("that meets an archived object in the middle says the same", async () => {
    // The listing and HEAD do not tell, as of an object that a rule moves a moment later.
    const odd = await serveOdd(alone.store, (answer) => {
      const isRead = answer.method === "GET" && !answer.url.includes("list-type=2");
      return isRead ? archiveObjects((key) => (isIn(20, key, "optim") ? GLACIER : null))(answer) : answer;
    });
    try {
      const args = ["restore", "llama@20", here, "--to", `s3://${cold.bucket}/ckpts`];
      const env = { ...keysInEnv({ ...alone.store, endpoint: odd.endpoint }), TIDEMARK_STATE: join(alone.dir, "late") };
      const refused = await runOnce(testedWorker(), args, { env });
      expect([refused.code, refused.stderr]).toEqual([
        4,
        expect.stringMatching(
          /optimizer\.safetensors: The object is archived, so its bytes cannot be read now.*Restore it first where it is stored/,
        ),
      ]);
      expect(existsSync(here)).toBe(false);
    } finally {
      await odd.close();
    }
  });

  test("before a program starts gives it the newest step that can be read; one that --from names is refused", async () => {
    storedAs = (key) => (isIn(20, key, "model") ? GLACIER : null);
    const run = (name: string, ...flags: string[]) =>
      startAlone(
        { ...alone, store: cold },
        {
          run: "llama",
          prefix: "ckpts",
          name,
          program: "console.log(`goes on at ${process.env.TIDEMARK_RESUME_STEP}`)",
          flags,
        },
      );
    const chosen = await run("chosen", "--from", "20");
    expect(await chosen.exited).toMatchObject({ code: 4 });
    expect(chosen.lines.join("\n")).toContain("model.safetensors: The object is archived");
    expect(readdirSync(folderOf(alone, "chosen"))).toEqual([]);
    const next = await run("next");
    expect(await next.exited).toMatchObject({ code: 0 });
    expect(next.lines.join("\n")).toContain(
      "Restoring step 10 of llama in place of 20. model.safetensors: The object is archived",
    );
    expect(next.lines.join("\n")).toContain("goes on at 10");
  });
});

describe("a copy of a folder", () => {
  const at = (name: string) => `s3://${cold.bucket}/f${round}/${name}`;
  const failuresOf = ({ stdout }: { stdout: string }) =>
    stdout
      .split("\n")
      .filter((line) => line.includes('"type":"failed"'))
      .map((line) => JSON.parse(line) as { name: string; fault: { code: string } })
      .map(({ name, fault }) => `${name.split("/").at(-1)} ${fault.code}`)
      .toSorted();
  beforeEach(async () => {
    for (const name of ["cold", "asked", "ready", "tiered", "warm"])
      await putOdd(alone.store, `f${round}/${name}`, { Body: Buffer.alloc(150 * KIB, name) });
    const stored: Record<string, StoredAs> = { cold: GLACIER, asked: ASKED, ready: READY, tiered: TIERED_COLD };
    storedAs = (key) => (key.startsWith(`f${round}/`) ? (stored[key.split("/").at(-1) ?? ""] ?? null) : null);
  });
  const FAILURES = ["asked OBJECT_BEING_RESTORED", "cold OBJECT_ARCHIVED", "tiered OBJECT_ARCHIVED"];

  test.each(["cp", "sync"])("by %s names archived objects without asking for a byte of them", async (verb) => {
    const copied = await tidemark(verb, "--json", at(""), here);
    expect(copied.code, copied.stderr).toBe(8);
    expect(failuresOf(copied)).toEqual(FAILURES);
    expect(readdirSync(here).toSorted()).toEqual(["ready", "warm"]);
    const gets = asked.filter((one) => /^GET (?!training)/.test(one));
    expect([...new Set(gets)].toSorted()).toEqual(["GET ready", "GET warm"]);
    expect(asked).not.toContain("HEAD warm");
  });

  test("by cp inside the store names them too", async () => {
    const copied = await tidemark("cp", "--json", at(""), `s3://${cold.bucket}/g${round}/`);
    expect([copied.code, failuresOf(copied)]).toEqual([8, FAILURES]);
  });

  test.each([
    ["cold", "The object is archived, so its bytes cannot be read now. Restore it first where it is stored"],
    ["tiered", "The object is archived, so its bytes cannot be read now. Restore it first where it is stored"],
    ["asked", "The object is being restored from its archive, so its bytes cannot be read yet. Start again when"],
  ])("and of the object %s alone is refused by cp and cat in one sentence", async (name, sentence) => {
    for (const args of [
      ["cp", at(name), join(here, name)],
      ["cat", at(name)],
    ]) {
      const one = await tidemark(...args);
      expect([one.code, one.stderr]).toEqual([4, expect.stringContaining(sentence)]);
    }
    expect(existsSync(here)).toBe(false);
  });
});
