import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { installServers } from "../servers/install.ts";
import { startVersitygw } from "../servers/start-versitygw.ts";
import { ROOT } from "../stage/start-process.ts";
import { type RunningStore, startStore } from "../stage/start-store.ts";
import { armFault, clearFaults, readCounters } from "../stage/store-control.ts";
import { waitUntil } from "../stage/wait-until.ts";

/** The verbs for plain objects, as a person uses them: the real program against a real store. */

const MIB = 1024 * 1024;
let dir: string;
let store: RunningStore;
let round = 0;
/** A prefix and a folder of its own for every test. */
let at: string;
let here: string;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "tidemark-verbs-"));
  store = await startStore({ dataDir: join(dir, "store"), control: "verbs-control-token" });
});
beforeEach(() => {
  at = `s3://${store.bucket}/t${++round}`;
  here = join(dir, `t${round}`);
  mkdirSync(here);
});
afterAll(async () => {
  await store.stop();
  rmSync(dir, { recursive: true, force: true });
});

interface Place {
  endpoint: string;
  accessKey: string;
  secretKey: string;
}

interface Outcome {
  code: number | null;
  out: Buffer;
  text: string;
  talk: string;
}

function start(args: string[], place: Place = store) {
  const [verb = "", ...rest] = args;
  const state = ["cp", "sync"].includes(verb) ? ["--state", join(dir, "state")] : [];
  const child = spawn(process.execPath, ["worker/main.ts", verb, ...state, ...rest], {
    cwd: ROOT,
    stdio: ["pipe", "pipe", "pipe"],
    env: {
      ...process.env,
      NO_COLOR: "1",
      CI: "true",
      AWS_ENDPOINT_URL: place.endpoint,
      AWS_ACCESS_KEY_ID: place.accessKey,
      AWS_SECRET_ACCESS_KEY: place.secretKey,
      TIDEMARK_RETRY_FOR: "5s",
    },
  });
  child.stdin.on("error", () => undefined);
  const [out, talk]: [Buffer[], Buffer[]] = [[], []];
  child.stdout.on("data", (chunk: Buffer) => void out.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => void talk.push(chunk));
  const ended = new Promise<Outcome>((resolve) => {
    child.on("close", (code) => {
      const whole = Buffer.concat(out);
      resolve({ code, out: whole, text: whole.toString(), talk: Buffer.concat(talk).toString() });
    });
  });
  return { child, ended, said: () => Buffer.concat(talk).toString() };
}

function run(args: string[], input?: Buffer): Promise<Outcome> {
  const { child, ended } = start(args);
  child.stdin.end(input);
  return ended;
}

/** Runs what has to succeed. */
async function does(args: string[], input?: Buffer): Promise<Outcome> {
  const outcome = await run(args, input);
  expect(outcome, outcome.talk).toMatchObject({ code: 0 });
  return outcome;
}

const lines = (outcome: Outcome): string[] => outcome.text.split("\n").filter((line) => line !== "");

function write(relative: string, content: string | Buffer, folder = here): string {
  const path = join(folder, relative);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

function tree(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    statSync(join(folder, name)).isFile(),
  );
  return Object.fromEntries(names.sort().map((name) => [name, readFileSync(join(folder, name), "utf8")]));
}

const keysOf = async (address: string): Promise<string[]> => {
  const listed = await run(["ls", "--recursive", "--json", `${address}/`]);
  if (listed.code === 3) return [];
  return lines(listed)
    .map((line) => JSON.parse(line))
    .filter(({ type }) => type === "object")
    .map(({ key }: { key: string }) => key.split("/").slice(1).join("/"));
};

const WRITES = ["PutObject", "CopyObject", "CreateMultipartUpload", "UploadPart", "DeleteObject", "DeleteObjects"];
async function writesSoFar(): Promise<number> {
  const { targets } = await readCounters(store);
  return targets.filter(({ operation }) => WRITES.includes(operation)).reduce((sum, { requests }) => sum + requests, 0);
}

describe("cp", () => {
  test("copies folders up, inside the store and down, with what the filters take", async () => {
    write("src/a.bin", "a");
    write("src/deep/b.bin", "b");
    write("src/deep/b.log", "log");
    await does(["cp", "--exclude", "*.log", join(here, "src"), `${at}/up`]);
    expect(await keysOf(`${at}/up`)).toEqual(["up/a.bin", "up/deep/b.bin"]);
    await does(["cp", `${at}/up`, `${at}/other`]);
    await does(["cp", "--include", "deep/*", `${at}/other`, join(here, "back")]);
    expect(tree(join(here, "back"))).toEqual({ "deep/b.bin": "b" });
  });

  test("one file that cannot be read does not stop the others, is named at the end, and the code is 8", async () => {
    write("src/a", "a");
    write("src/c", "c");
    symlinkSync(join(here, "nowhere"), join(here, "src/broken"));
    const outcome = await run(["cp", join(here, "src"), `${at}/partly`]);
    expect(outcome.code).toBe(8);
    expect(outcome.talk).toContain("broken");
    expect(await keysOf(`${at}/partly`)).toEqual(["partly/a", "partly/c"]);
  });

  test("when nothing could be copied the code says why", async () => {
    for (const name of ["a", "b"]) write(`src/${name}`, name);
    const keyPattern = `t${round}/none/*`;
    await armFault(store, {
      op: "PutObject",
      keyPattern,
      action: { kind: "error", status: 403, code: "AccessDenied" },
    });
    const outcome = await run(["cp", join(here, "src"), `${at}/none`]);
    await clearFaults(store);
    expect(outcome.code).toBe(4);
    expect(outcome.talk.match(/^failed /gm)).toHaveLength(2);
  });

  test("one object that the store refuses does not stop the others on their way down", async () => {
    for (const name of ["a", "b", "c"]) write(`src/${name}`, name);
    await does(["cp", join(here, "src"), `${at}/three`]);
    const key = `t${round}/three/b`;
    await armFault(store, {
      op: "GetObject",
      keyPattern: key,
      action: { kind: "error", status: 403, code: "AccessDenied" },
    });
    await armFault(store, {
      op: "HeadObject",
      keyPattern: key,
      action: { kind: "error", status: 403, code: "AccessDenied" },
    });
    const outcome = await run(["cp", "--json", `${at}/three`, join(here, "back")]);
    await clearFaults(store);
    expect(outcome.code).toBe(8);
    const facts = lines(outcome).map((line) => JSON.parse(line));
    expect(facts.find(({ type }) => type === "failed")).toMatchObject({ name: key, fault: { code: "ACCESS_DENIED" } });
    expect(facts.at(-1)).toMatchObject({ type: "done", filesFailed: 1 });
    expect(tree(join(here, "back"))).toMatchObject({ a: "a", c: "c" });
    expect(existsSync(join(here, "back/b"))).toBe(false);
    await does(["cp", `${at}/three`, join(here, "back")]);
    expect(tree(join(here, "back"))).toEqual({ a: "a", b: "b", c: "c" });
  });

  test("names of 255 bytes and names in other scripts go there and back", async () => {
    const names = [`${"n".repeat(251)}.bin`, "größe +%&'\"=#?.txt", "日本/語 .txt", "a b/c+d/e%20f"];
    for (const name of names) write(`src/${name}`, name);
    await does(["cp", join(here, "src"), `${at}/names`]);
    await does(["cp", `${at}/names`, join(here, "back")]);
    expect(tree(join(here, "back"))).toEqual(tree(join(here, "src")));
  });

  test("a link inside the target does not carry a file out of it", async () => {
    write("src/out/a", "a");
    await does(["cp", join(here, "src"), `${at}/links`]);
    mkdirSync(join(here, "elsewhere"));
    mkdirSync(join(here, "back"));
    symlinkSync(join(here, "elsewhere"), join(here, "back/out"));
    const outcome = await run(["cp", `${at}/links`, join(here, "back")]);
    expect(outcome.code).toBe(4);
    expect(readdirSync(join(here, "elsewhere"))).toEqual([]);
  });

  test("stopped by SIGINT it ends with 130 and says that the same command goes on, which it does", async () => {
    const content = randomBytes(16 * MIB);
    const path = write("large", content);
    const args = ["cp", "--part-size", "5MiB", "--concurrency", "1"];
    const { child, ended } = start([...args, "--limit-up", "6MB", path, `${at}/stopped`]);
    const parts = async () =>
      (await readCounters(store, "UploadPart")).targets.filter(({ key }) => key === `t${round}/stopped`);
    await waitUntil("a part is stored", async () => (await parts()).some((one) => one.succeeded > 0));
    child.kill("SIGINT");
    const stopped = await ended;
    expect(stopped.code).toBe(130);
    expect(stopped.talk).toContain("The same command goes on from there");
    expect((await does([...args, path, `${at}/stopped`])).text).toContain("were there already");
    expect((await does(["cat", `${at}/stopped`])).out.equals(content)).toBe(true);
  });

  test("a copy onto itself is refused", async () => {
    await does(["cp", "-", `${at}/k`], Buffer.from("a"));
    const outcome = await run(["cp", `${at}/k`, `${at}/k`]);
    expect(outcome.code).toBe(2);
    expect(outcome.talk).toContain("copied onto itself");
  });

  test("--dry-run says what would be copied and writes nothing, neither there nor here", async () => {
    write("src/a", "a");
    await does(["cp", join(here, "src/a"), `${at}/there`]);
    const before = await writesSoFar();
    expect((await does(["cp", "--dry-run", join(here, "src"), `${at}/dry`])).text).toContain("copy");
    expect((await does(["cp", "-n", `${at}/there`, `${at}/copy`])).text).toContain("/copy");
    expect((await does(["cp", "-n", `${at}/there`, join(here, "never")])).text).toContain("never");
    expect(await writesSoFar()).toBe(before);
    expect(existsSync(join(here, "never"))).toBe(false);
  });

  test.each([
    [["cp", "a", "b"], "both sides are local"],
    [["cp", "s3://", "b"], "the bucket is missing"],
    [["cp", "s3://b/k"], "tidemark cp SRC DST"],
    [["cp", "--exclude", "[a", ".", "s3://b/k"], "--exclude [a"],
    [["cat", "s3://b/"], "names no object"],
    [["presign", "--expires", "8d", "s3://b/k"], "seven days"],
    [["presign", "--method", "DELETE", "s3://b/k"], "GET or PUT"],
    [["sync", "a", "b"], "s3://bucket/folder"],
    [["ls", "a"], "s3://bucket/key"],
  ] as const)("%j is refused with a clear sentence", async (args, sentence) => {
    const outcome = await run([...args]);
    expect(outcome.code).toBe(2);
    expect(outcome.talk).toContain(sentence);
  });
});

describe("cp from stdin and to stdout", () => {
  test.each([0, 1, 5 * MIB, 23 * MIB + 7])("an input of %i bytes becomes an object and comes back", async (size) => {
    const content = randomBytes(size);
    await does(["cp", "--part-size", "5MiB", "--concurrency", "3", "-", `${at}/stdin`], content);
    const back = await does(["cp", `${at}/stdin`, "-"]);
    expect(back.out.equals(content)).toBe(true);
  });

  test("says how much memory it takes, and refuses a budget that holds no part", async () => {
    const said = await does(["cp", "--part-size", "8MiB", "--concurrency", "2", "-", `${at}/small`], Buffer.from("a"));
    expect(said.talk).toContain("2 parts of 8.0 MiB at a time, so at most 32.0 MiB");
    const refused = await run(["cp", "--memory", "8MiB", "-", `${at}/small`], Buffer.from("a"));
    expect(refused.code).toBe(2);
    expect(refused.talk).toContain("need at least 15.0 MiB");
  });

  test("stopped by SIGINT it ends with 130, and the store keeps neither an object nor parts", async () => {
    const { child, ended } = start(["cp", "--part-size", "5MiB", "-", `${at}/stopped`]);
    child.stdin.write(randomBytes(12 * MIB));
    const parts = async () =>
      (await readCounters(store, "UploadPart")).targets.filter(({ key }) => key === `t${round}/stopped`);
    await waitUntil("two parts are stored", async () => (await parts()).filter((one) => one.succeeded > 0).length >= 2);
    child.kill("SIGINT");
    expect((await ended).code).toBe(130);
    const aborted = await readCounters(store, "AbortMultipartUpload");
    expect(aborted.targets.find(({ key }) => key === `t${round}/stopped`)?.succeeded).toBeGreaterThan(0);
    expect(await keysOf(at)).toEqual([]);
  });

  test("goes on through refused and cut connections", async () => {
    const content = randomBytes(11 * MIB);
    await armFault(store, { op: "UploadPart", times: 2, action: { kind: "error", code: "SlowDown" } });
    await armFault(store, { op: "CompleteMultipartUpload", times: 1, action: { kind: "drop-response" } });
    await does(["cp", "--part-size", "5MiB", "-", `${at}/rough`], content);
    await clearFaults(store);
    expect((await does(["cat", `${at}/rough`])).out.equals(content)).toBe(true);
  });
});

describe("sync", () => {
  const puts = async () => {
    const { targets } = await readCounters(store, "PutObject");
    return targets.filter(({ key }) => key.startsWith(`t${round}/`)).reduce((sum, { requests }) => sum + requests, 0);
  };
  const sync = (args: string[]) => run(["sync", ...args]);

  test("copies what is missing or differs and leaves the rest alone, both ways", async () => {
    write("src/same", "same");
    write("src/longer", "1");
    write("src/edited", "old");
    await does(["sync", join(here, "src"), `${at}/s`]);
    const before = await puts();
    expect((await does(["sync", join(here, "src"), `${at}/s`])).text).toContain("nothing to do");
    expect(await puts()).toBe(before);
    write("src/longer", "22");
    // Same size, later date: the contents decide.
    utimesSync(write("src/edited", "new"), new Date(), new Date(Date.now() + 60_000));
    utimesSync(join(here, "src/same"), new Date(), new Date(Date.now() + 60_000));
    await does(["sync", join(here, "src"), `${at}/s`]);
    expect(await puts()).toBe(before + 2);
    await does(["sync", `${at}/s`, join(here, "back")]);
    expect(tree(join(here, "back"))).toEqual({ same: "same", longer: "22", edited: "new" });
    expect((await does(["sync", `${at}/s`, join(here, "back")])).text).toContain("nothing to do");
  });

  test("a file of many parts is recognised by the sums of its parts", async () => {
    const path = write("src/large", randomBytes(17 * MIB + 3));
    await does(["sync", "--part-size", "5MiB", join(here, "src"), `${at}/l`]);
    utimesSync(path, new Date(), new Date(Date.now() + 60_000));
    expect((await does(["sync", join(here, "src"), `${at}/l`])).text).toContain("nothing to do");
  });

  test("--checksum finds a change that kept size and date", async () => {
    const path = write("src/a", "old");
    await does(["sync", join(here, "src"), `${at}/c`]);
    const { mtime } = statSync(path);
    writeFileSync(path, "new");
    utimesSync(path, mtime, mtime);
    expect((await does(["sync", join(here, "src"), `${at}/c`])).text).toContain("nothing to do");
    await does(["sync", "--checksum", join(here, "src"), `${at}/c`]);
    expect((await does(["cat", `${at}/c/a`])).text).toBe("new");
  });

  test("removes nothing without --delete; with it only what SRC lacks and the filters take", async () => {
    write("src/a", "a");
    write("dst/a", "a");
    write("dst/extra/b", "b");
    write("dst/keep.log", "log");
    await does(["cp", join(here, "dst"), `${at}/d`]);
    await does(["sync", join(here, "src"), `${at}/d`]);
    expect(await keysOf(`${at}/d`)).toEqual(["d/a", "d/extra/b", "d/keep.log"]);
    const dry = await does(["sync", "-n", "--delete", "--exclude", "*.log", join(here, "src"), `${at}/d`]);
    expect(lines(dry)).toEqual(["delete  extra/b  (1 B)"]);
    await does(["sync", "--delete", "--exclude", "*.log", join(here, "src"), `${at}/d`]);
    expect(await keysOf(`${at}/d`)).toEqual(["d/a", "d/keep.log"]);
    await does(["sync", "--delete", `${at}/d`, join(here, "dst")]);
    expect(tree(join(here, "dst"))).toEqual({ a: "a", "keep.log": "log" });
    expect(existsSync(join(here, "dst/extra"))).toBe(false);
  });

  test("what a size filter leaves out of SRC is not removed from DST", async () => {
    write("src/grown", "12345");
    write("old/grown", "1");
    await does(["cp", join(here, "old"), `${at}/g`]);
    await does(["sync", "--delete", "--max-size", "2", join(here, "src"), `${at}/g`]);
    expect(await keysOf(`${at}/g`)).toEqual(["g/grown"]);
  });

  test("--delete is refused when SRC is empty, could not be read, or too much would go", async () => {
    for (const name of ["a", "b", "c"]) write(`dst/${name}`, name);
    await does(["cp", join(here, "dst"), `${at}/r`]);
    mkdirSync(join(here, "empty"));
    const empty = await sync(["--delete", join(here, "empty"), `${at}/r`]);
    expect(empty).toMatchObject({ code: 2 });
    expect(empty.talk).toContain("--allow-empty");
    expect((await sync(["--delete", join(here, "absent"), `${at}/r`])).code).toBe(3);
    write("src/a", "a");
    const many = await sync(["--delete", "--max-delete", "1", join(here, "src"), `${at}/r`]);
    expect(many.talk).toContain("more than --max-delete 1");
    symlinkSync(join(here, "nowhere"), join(here, "src/broken"));
    expect((await sync(["--delete", join(here, "src"), `${at}/r`])).talk).toContain("could not be listed completely");
    await armFault(store, { op: "ListObjectsV2", times: 50, action: { kind: "html", work: "skipped" } });
    const portal = await sync(["--delete", `${at}/none`, join(here, "dst")]);
    await clearFaults(store);
    expect(portal.code).not.toBe(0);
    expect(Object.keys(tree(join(here, "dst")))).toEqual(["a", "b", "c"]);
    expect(await keysOf(`${at}/r`)).toEqual(["r/a", "r/b", "r/c"]);
    await does(["sync", "--delete", "--allow-empty", join(here, "empty"), `${at}/r`]);
    expect(await keysOf(`${at}/r`)).toEqual([]);
  });

  test("works between two places of a store, and refuses one inside the other", async () => {
    write("src/a", "a");
    write("src/b", "b");
    await does(["cp", join(here, "src"), `${at}/x`]);
    await does(["sync", `${at}/x`, `${at}/y`]);
    expect(await keysOf(`${at}/y`)).toEqual(["y/a", "y/b"]);
    expect((await does(["sync", `${at}/x`, `${at}/y`])).text).toContain("nothing to do");
    expect((await sync([`${at}/x`, `${at}/x/inner`])).talk).toContain("inside the other");
  });
});

describe("check", () => {
  test("says of each file whether it is the same, missing or different; the code is 6 when any differs", async () => {
    for (const name of ["same", "edited", "resized", "here"]) write(`src/${name}`, name);
    await does(["cp", join(here, "src"), `${at}/k`]);
    await does(["cp", "-", `${at}/k/there`], Buffer.from("there"));
    expect((await run(["check", join(here, "src"), `${at}/k`])).code).toBe(6);
    await does(["rm", `${at}/k/there`]);
    const same = await does(["check", join(here, "src"), `${at}/k`]);
    expect(lines(same).sort()).toEqual(["= edited", "= here", "= resized", "= same"]);
    await does(["cp", "-", `${at}/k/there`], Buffer.from("there"));
    await does(["rm", `${at}/k/here`]);
    write("src/edited", "EDITED");
    write("src/resized", "r");
    const found = await run(["check", join(here, "src"), `${at}/k`]);
    expect(found.code).toBe(6);
    expect(lines(found).sort()).toEqual(["* edited", "* resized", "< here", "= same", "> there"]);
    const json = lines(await run(["check", "--json", join(here, "src"), `${at}/k`])).map((line) => JSON.parse(line));
    expect(json.at(-1)).toMatchObject({ type: "done", same: 1, differs: 2, onlySource: 1, onlyTarget: 1 });
  });

  test("finds one flipped byte in a file of many parts, by the stored sums and by --download", async () => {
    const content = randomBytes(12 * MIB + 1);
    const path = write("src/large", content);
    await does(["cp", "--part-size", "5MiB", join(here, "src"), `${at}/f`]);
    await does(["check", "--download", join(here, "src"), `${at}/f`]);
    content[11 * MIB] = (content[11 * MIB] ?? 0) ^ 1;
    writeFileSync(path, content);
    expect((await run(["check", "--download", join(here, "src"), `${at}/f`])).text).toBe("* large\n");
    const sums = await run(["check", join(here, "src"), `${at}/f`]);
    expect(sums.code).toBe(6);
    expect(sums.text).toMatch(/^[*?] large\n$/);
    await does(["check", "--size-only", join(here, "src"), `${at}/f`]);
  });
});

describe("ls", () => {
  test("lists folders and objects with size and date, buckets without an address, and never calls a failure empty", async () => {
    write("src/a.bin", "12345");
    write("src/deep/b.bin", "b");
    await does(["cp", join(here, "src"), `${at}/ls`]);
    const flat = lines(await does(["ls", `${at}/ls/`]));
    expect(flat).toHaveLength(2);
    expect(flat.join("\n")).toMatch(/DIR {2}deep\/\n20\d\d-\d\d-\d\d \d\d:\d\d:\d\d +5 {2}a\.bin$/);
    expect(lines(await does(["ls", "-r", "--exclude", "deep/", `${at}/ls/`]))).toHaveLength(1);
    expect((await does(["ls"])).text).toContain(`s3://${store.bucket}`);
    const nothing = await run(["ls", `${at}/nothing`]);
    expect(nothing).toMatchObject({ code: 3, text: "" });
    await armFault(store, { op: "ListObjectsV2", times: 50, action: { kind: "html", work: "skipped" } });
    const failed = await run(["ls", `${at}/ls/`]);
    await clearFaults(store);
    expect(failed.code).toBe(5);
    expect(failed.talk).not.toContain("empty");
  });
});

describe("cat", () => {
  test("writes an object, or a range of it, and nothing else", async () => {
    const content = randomBytes(9 * MIB + 5);
    const path = write("large", content);
    await does(["cp", path, `${at}/cat`]);
    expect((await does(["cat", `${at}/cat`])).out.equals(content)).toBe(true);
    const range = await does(["cat", "--offset", "4194300", "--count", "9", `${at}/cat`]);
    expect(range.out.equals(content.subarray(4_194_300, 4_194_309))).toBe(true);
    expect((await does(["cat", "--offset", String(content.length), `${at}/cat`])).out).toHaveLength(0);
    expect((await run(["cat", "--offset", "1G", `${at}/cat`])).code).toBe(2);
    expect(await run(["cat", `${at}/absent`])).toMatchObject({ code: 3, text: "" });
  });
});

describe("rm", () => {
  test("deletes one object, and below a folder only with --recursive", async () => {
    for (const name of ["run/a", "run/b.log", "run/deep/c", "run-2/d"]) write(`src/${name}`, name);
    await does(["cp", join(here, "src"), at]);
    await does(["rm", `${at}/run/a`]);
    expect((await run(["rm", `${at}/run/a`])).code).toBe(3);
    const refused = await run(["rm", `${at}/run/`]);
    expect(refused).toMatchObject({ code: 2 });
    expect(refused.talk).toContain("2 objects");
    const before = await writesSoFar();
    expect(lines(await does(["rm", "-r", "--dry-run", `${at}/run`]))).toHaveLength(2);
    expect(await writesSoFar()).toBe(before);
    await does(["rm", "-r", "--exclude", "*.log", `${at}/run`]);
    expect(await keysOf(at)).toEqual(["run-2/d", "run/b.log"]);
    await does(["rm", "-r", `${at}/run`]);
    expect(await keysOf(at)).toEqual(["run-2/d"]);
  });

  test("a bare bucket is refused without --recursive and keeps everything", async () => {
    await does(["cp", "-", `${at}/keep`], Buffer.from("a"));
    const refused = await run(["rm", `s3://${store.bucket}`]);
    expect(refused.code).toBe(2);
    expect(refused.talk).toMatch(/it holds \d+ objects/);
    expect(await keysOf(at)).toEqual(["keep"]);
  });
});

describe("presign", () => {
  test("makes URLs that read and write without keys", async () => {
    const put = (await does(["presign", "--method", "PUT", `${at}/signed+%.txt`])).text.trim();
    expect((await fetch(put, { method: "PUT", body: "by url" })).status).toBe(200);
    const get = (await does(["presign", "--expires", "2m", `${at}/signed+%.txt`])).text.trim();
    expect(get).toContain("X-Amz-Expires=120");
    expect(await (await fetch(get)).text()).toBe("by url");
    expect((await fetch(get, { method: "PUT", body: "no" })).status).toBe(403);
  });
});

test("the same verbs work on a store written by others", async (context) => {
  const { versitygw } = await installServers({ ci: false });
  if ("missing" in versitygw) return context.skip(versitygw.missing);
  const server = await startVersitygw(versitygw.program);
  try {
    const there = `s3://${server.bucket}/smoke`;
    const one = async (args: string[], input?: Buffer) => {
      const { child, ended } = start(args, server);
      child.stdin.end(input);
      const outcome = await ended;
      expect(outcome, outcome.talk).toMatchObject({ code: 0 });
      return outcome;
    };
    const content = randomBytes(12 * MIB);
    write("src/large", content);
    write("src/deep/small", "small");
    await one(["sync", "--part-size", "5MiB", join(here, "src"), there]);
    await one(["check", "--download", join(here, "src"), there]);
    expect((await one(["sync", join(here, "src"), there])).text).toContain("nothing to do");
    await one(["cp", there, `s3://${server.bucket}/copy`]);
    await one(["cp", "--part-size", "5MiB", "-", `s3://${server.bucket}/copy/stdin`], content);
    const digest = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");
    expect(digest((await one(["cat", `s3://${server.bucket}/copy/stdin`])).out)).toBe(digest(content));
    expect(lines(await one(["ls", "-r", `s3://${server.bucket}/`]))).toHaveLength(5);
    await one(["rm", "-r", `s3://${server.bucket}/copy`]);
    await one(["sync", there, join(here, "back")]);
    expect(digest(readFileSync(join(here, "back/large")))).toBe(digest(content));
  } finally {
    await server.stop();
  }
});
