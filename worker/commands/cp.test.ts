import { randomBytes } from "node:crypto";
import { mkdir, readFile, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { readPut } from "#storage/s3/answers.ts";
import { parseCommandLine } from "../command-line/cli.ts";
import { resolveConfig } from "../command-line/config.ts";
import { copy } from "./cp.ts";
import { callStore } from "../transfer/engine.ts";
import { openTrialStore, type TrialStore } from "../testing/trial-store.ts";
import { createTerminal } from "../command-line/terminal.ts";

let store: TrialStore;
let folder: string;
const content = randomBytes(12_000_000);

beforeAll(async () => {
  store = await openTrialStore();
  folder = store.folder;
  await writeFile(join(folder, "one.bin"), content);
  await mkdir(join(folder, "tree/deep"), { recursive: true });
  await writeFile(join(folder, "tree/deep/a.txt"), "a");
  await writeFile(join(folder, "tree/empty"), "");
});
afterEach(() => store.disarm());
afterAll(() => store.close());

/** An object with a key that no file here has. */
async function put(key: string): Promise<void> {
  const operation = { op: "put", key, sizeBytes: 1, crc32: "e8b7be43", nonce: "n" } as const;
  await callStore(store.engine(), { operation, signal: new AbortController().signal, body: Buffer.from("a") }, readPut);
}

/** Runs `tidemark cp` as main does; returns what it wrote to stdout. */
async function cp(
  args: string[],
  rest: {
    signal?: AbortSignal;
    flags?: string[];
    secret?: string;
    endpoint?: string;
    talk?: string[];
    input?: Iterable<Buffer> | AsyncIterable<Buffer>;
  } = {},
): Promise<string> {
  const flags = ["--state", join(folder, "state"), "--provider", "minio", "--part-size", "5MiB", ...(rest.flags ?? [])];
  const { flags: given, operands } = parseCommandLine(["cp", ...flags, ...args]);
  const env = {
    AWS_ENDPOINT_URL: rest.endpoint ?? store.access.endpoint,
    AWS_ACCESS_KEY_ID: store.credential.accessKeyId,
    AWS_SECRET_ACCESS_KEY: rest.secret ?? store.credential.secretAccessKey,
  };
  let said = "";
  const streams = {
    out: (text: string) => void (said += text),
    talk: (text: string) => void rest.talk?.push(text),
    isTty: false,
    columns: 0,
    rows: 0,
  };
  await copy({
    config: resolveConfig({ command: "cp", flags: given, env }),
    operands,
    terminal: createTerminal(streams, { json: rest.flags?.includes("--json") ?? false, plain: true }),
    signal: rest.signal ?? new AbortController().signal,
    home: null,
    output: async (chunk) => void (said += chunk.toString()),
    input: () => Readable.from(rest.input ?? []),
  });
  return said;
}

test("a file goes there and back byte for byte", async () => {
  expect(await cp([join(folder, "one.bin"), "s3://trial/dir/"])).toContain("verified");
  await cp(["s3://trial/dir/one.bin", join(folder, "back.bin")]);
  expect((await readFile(join(folder, "back.bin"))).equals(content)).toBe(true);
  expect((await readdir(folder)).filter((name) => name.includes(".part-"))).toEqual([]);
  expect(await readdir(join(folder, "state/copies"))).toEqual([]);
});

test("a folder goes there and back, empty files included", async () => {
  await cp([join(folder, "tree"), "s3://trial/tree"]);
  await cp(["s3://trial/tree", join(folder, "tree-back")]);
  expect((await readdir(join(folder, "tree-back"), { recursive: true })).toSorted()).toEqual([
    "deep",
    "deep/a.txt",
    "empty",
  ]);
  expect(await readFile(join(folder, "tree-back/deep/a.txt"), "utf8")).toBe("a");
});

test("stopped it leaves nothing under the final name, and the same command goes on", async () => {
  await cp([join(folder, "one.bin"), "s3://trial/slow.bin"]);
  const target = join(folder, "slow.bin");
  const stop = new AbortController();
  const stopped = cp(["s3://trial/slow.bin", target], {
    signal: stop.signal,
    flags: ["--limit-down", "8MB", "--concurrency", "1"],
  });
  const temporary = async () => (await readdir(folder)).some((name) => name.startsWith(".slow.bin.part-"));
  const remembered = async () => (await readdir(join(folder, "state/copies"))).length > 0;
  while (!(await temporary()) || !(await remembered())) await new Promise((resolve) => setTimeout(resolve, 5));
  stop.abort();
  await expect(stopped).rejects.toMatchObject({ code: "CANCELLED" });
  await expect(stat(target)).rejects.toMatchObject({ code: "ENOENT" });
  await cp(["s3://trial/slow.bin", target]);
  expect((await readFile(target)).equals(content)).toBe(true);
  expect(await temporary()).toBe(false);
});

test("a key that cannot be written is named, as an escape, and nothing else is harmed", async () => {
  for (const key of ["evil/a\u001bb", "evil/fine"]) await put(key);
  const talk: string[] = [];
  expect(await cp(["s3://trial/evil/", join(folder, "evil")], { talk })).toContain("1 failed");
  expect(await readdir(join(folder, "evil"))).toEqual(["fine"]);
  expect(talk.join("")).toContain("failed  evil/a\\u001bb: ");
  expect(talk.join("")).not.toContain("\u001b");
});

test("a wrong secret is named as such although HEAD answers without a word", async () => {
  await expect(cp(["s3://trial/dir/one.bin", join(folder, "never")], { secret: "wrong" })).rejects.toMatchObject({
    code: "BAD_CREDENTIALS",
  });
});

test("a listing that is interrupted by a login page is not an empty folder", async () => {
  await store.arm({ op: "ListObjectsV2", action: { kind: "html", work: "skipped" } });
  const listed = cp(["s3://trial/tree/", join(folder, "portal")], { flags: ["--retry-for", "300ms"] });
  await expect(listed).rejects.toMatchObject({ code: "INTERCEPTED" });
});

test("with --json every line is one object and the last one says what was done", async () => {
  const lines = (await cp([join(folder, "one.bin"), "s3://trial/json.bin"], { flags: ["--json"] })).trim().split("\n");
  const objects: unknown[] = lines.map((line) => JSON.parse(line));
  expect(objects.at(-1)).toMatchObject({ type: "done", bytes: content.length, files: 1 });
});

test("two local paths, or none, are refused with the right usage", async () => {
  await expect(cp(["a", "b"])).rejects.toThrow("s3://bucket/key");
  await expect(cp(["a"])).rejects.toThrow("tidemark cp SRC DST");
  await expect(cp(["gs://a/b", "c"])).rejects.toThrow("s3://bucket/key");
});

test("a file whose name cannot be a key is named, and the others are sent", async () => {
  await mkdir(join(folder, "hostile"));
  await writeFile(join(folder, "hostile/fine.txt"), "a");
  await writeFile(join(folder, "hostile/a\u0007b"), "a");
  const talk: string[] = [];
  expect(await cp([join(folder, "hostile"), "s3://trial/hostile"], { talk })).toContain("1 failed");
  expect(talk.join("")).toContain("a\\u0007b: ");
  const sent = (await store.count("PutObject")).filter(({ key }) => key.startsWith("hostile"));
  expect(sent.map(({ key }) => key)).toEqual(["hostile/fine.txt"]);
});

test.each(["up", "down"])(
  "with the store away it says so at once, and gives up when it was told to (%s)",
  async (way) => {
    const talk: string[] = [];
    const [here, there] = [join(folder, "one.bin"), "s3://trial/away.bin"];
    const args = way === "up" ? [here, there] : [there, join(folder, "away.bin")];
    const away = cp(args, { endpoint: "http://127.0.0.1:9", flags: ["--retry-for", "1s"], talk });
    await expect(away).rejects.toMatchObject({ code: "LINK_DOWN" });
    const told = talk.filter((line) => line.includes("--retry-for"));
    expect(told).toHaveLength(1);
    expect(told[0]).toContain("Trying again until nothing has moved for 1 s");
  },
);

test.each(["while the upload is being begun", "after a part of it was stored"])(
  "an input that breaks %s leaves no object and no parts at the store",
  async (when) => {
    // Another one at each try: the store counts by key.
    const key = `broken ${when} ${randomBytes(4).toString("hex")}`;
    const of = async (op: string) => (await store.count(op)).filter((one) => one.key === key);
    const breaking = async function* () {
      for (let count = 0; count < 12; count++) yield randomBytes(1024 * 1024);
      if (when.startsWith("after")) await expect.poll(async () => (await of("UploadPart"))[0]?.succeeded).toBe(1);
      throw new Error("the pipe broke");
    };
    // A store that is slow to begin an upload: whoever gives up waiting leaves it there.
    const action = { kind: "delay", ms: 2_500 };
    if (when.startsWith("while")) await store.arm({ op: "CreateMultipartUpload", keyPattern: key, times: 1, action });
    await expect(cp(["-", `s3://trial/${key}`], { input: breaking() })).rejects.toMatchObject({ code: "READ_FAILED" });
    if (when.startsWith("after")) expect((await of("UploadPart"))[0]?.succeeded).toBe(1);
    expect((await of("CreateMultipartUpload"))[0]?.succeeded).toBe(1);
    expect((await of("AbortMultipartUpload"))[0]?.succeeded).toBe(1);
    expect(await of("CompleteMultipartUpload")).toEqual([]);
  },
);

test("what went to stdout with a wrong byte is not called right, also of an object that came in parts", async () => {
  const path = join(folder, "parts.bin");
  await writeFile(path, randomBytes(6 * 1024 * 1024));
  await cp([path, "s3://trial/parts.bin"]);
  await cp(["s3://trial/parts.bin", "-"]);
  await store.arm({
    op: "GetObject",
    keyPattern: "parts.bin",
    times: 1,
    action: { kind: "flip", side: "response", offset: 3 },
  });
  const wrong = cp(["s3://trial/parts.bin", "-"]);
  await expect(wrong).rejects.toMatchObject({ code: "CHECKSUM_MISMATCH", context: { subject: "parts.bin" } });
});

test("the same copy a second time at the same time ends at once and says so", async () => {
  const path = join(folder, "twice.bin");
  await writeFile(path, randomBytes(6 * 1024 * 1024));
  await store.arm({ op: "CompleteMultipartUpload", keyPattern: "twice.bin", action: { kind: "delay", ms: 1_500 } });
  const first = cp([path, "s3://trial/twice.bin"]);
  const begun = async () => (await store.count("CreateMultipartUpload")).some(({ key }) => key === "twice.bin");
  await expect.poll(begun).toBe(true);
  await expect(cp([path, "s3://trial/twice.bin"])).rejects.toMatchObject({ code: "COPY_RUNNING" });
  expect(await first).toContain("verified");
});

test("an upload whose Create was done but not answered is not left at the store", async () => {
  const path = join(folder, "lost.bin");
  await writeFile(path, randomBytes(6 * 1024 * 1024));
  await store.arm({
    op: "CreateMultipartUpload",
    keyPattern: "lost.bin",
    times: 1,
    action: { kind: "drop-response" },
  });
  await cp([path, "s3://trial/lost.bin"]);
  const of = async (op: string) => (await store.count(op)).filter(({ key }) => key === "lost.bin");
  expect((await of("CreateMultipartUpload"))[0]?.succeeded).toBe(1);
  expect((await of("AbortMultipartUpload"))[0]?.succeeded).toBe(1);
});
