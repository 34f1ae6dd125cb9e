import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ENGINE_NAMES, ENGINES } from "#protocol/benchmarks/engines.ts";
import { BENCH_PRESETS } from "#protocol/benchmarks/presets.ts";
import { PRESETS } from "#storage/providers/providers.ts";
import { BENCH_FLAGS } from "../command-line/bench-flags.ts";
import type { TransferTask, Present, ToolEnd, Where } from "./driver.ts";
import { DRIVERS } from "./drivers.ts";
import { judgeEnd } from "./judge-end.ts";
import { runTransfer } from "./run-transfer.ts";

let folder: string;
let where: Where;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-drivers-"));
  where = { searchPath: folder, passedOn: {}, self: ["/usr/bin/tidemark"] };
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const SECRETS = ["very-secret-key", "very-secret-token", "very-secret-grant", "very-secret-signature"];
const taskOf = (direction: "up" | "down"): TransferTask => ({
  direction,
  sizeBytes: 300_000_000,
  partBytes: 10_000_000,
  connections: 10,
  access: {
    endpoint: "https://s3.example.com",
    region: "eu",
    bucket: "b",
    addressing: "path",
    traits: PRESETS.other.traits,
  },
  credential: { accessKeyId: "key", secretAccessKey: "very-secret-key", sessionToken: "very-secret-token" },
  hub: null,
  grant: "very-secret-grant",
  url: "https://s3.example.com/b/k?X-Amz-Signature=very-secret-signature",
  key: "k",
  path: join(folder, "file"),
  scratch: folder,
});

describe.each(ENGINE_NAMES)("%s", (name) => {
  const driver = DRIVERS[name];

  test("is given its secrets through the environment or stdin, never on a command line or in a file", async () => {
    const found: Present = { program: "/usr/bin/x", version: "1", where };
    for (const direction of ENGINES[name].directions) {
      const command = await driver.command(taskOf(direction), found);
      const line = [command.program, ...command.args].join(" ");
      for (const secret of SECRETS) expect(line).not.toContain(secret);
      const given = JSON.stringify(command.env) + (command.stdin ?? "");
      expect(SECRETS.some((secret) => given.includes(secret))).toBe(true);
      const config = await readFile(join(folder, "aws-config"), "utf8").catch(() => "");
      for (const secret of [...SECRETS, "key ="]) expect(config).not.toContain(secret);
    }
  });

  test("is said to be missing where it is not, with how it is got", async () => {
    const found = await driver.find({ ...where, searchPath: "/nowhere", self: [] });
    expect(found).toHaveProperty("missing");
    if ("missing" in found)
      expect(found.missing).toMatch(/not known|there is no \S+ on the PATH: (pip|apt-get|https:)/);
  });
});

const end = (rest: Partial<ToolEnd>): ToolEnd => ({
  code: 1,
  signal: null,
  endedBy: "itself",
  wallMs: 1,
  readyMs: null,
  peakBytes: null,
  out: "",
  log: "",
  ...rest,
});
const limits = { timeMs: 60_000, memoryBytes: 1e9 };
const codeOf = (name: keyof typeof DRIVERS, rest: Partial<ToolEnd>) => judgeEnd(DRIVERS[name], end(rest), limits)?.code;

test("how a program ended becomes one of our codes", () => {
  expect(codeOf("rclone", { code: 0 })).toBeUndefined();
  expect(codeOf("rclone", { code: 4 })).toBe("NO_SUCH_KEY");
  expect(codeOf("aria2", { code: 19 })).toBe("NAME_NOT_RESOLVED");
  expect(codeOf("s5cmd", { log: "ERROR cp: InternalError: x\nERROR cp: SlowDown: please" })).toBe("THROTTLED");
  expect(codeOf("s5cmd", { log: "something of its own" })).toBe("ENGINE_FAILED");
  expect(codeOf("s5cmd", { code: null, signal: "SIGSEGV" })).toBe("ENGINE_FAILED");
  expect(codeOf("boto3", { out: `{"name":"ClientError","code":"NoSuchBucket","status":404}\n` })).toBe(
    "NO_SUCH_BUCKET",
  );
  expect(codeOf("boto3", { out: `{"name":"toString","code":"constructor","status":404}\n` })).toBe("NO_SUCH_KEY");
  expect(codeOf("crt", { out: `{"name":"AwsCrtError","code":null,"status":403}` })).toBe("ACCESS_DENIED");
  expect(codeOf("sdk", { out: `{"type":"engine-answer","fault":{"code":"LINK_DOWN"}}` })).toBe("LINK_DOWN");
  expect(codeOf("rclone", { endedBy: "time" })).toBe("ENGINE_TIME_LIMIT");
  expect(codeOf("rclone", { endedBy: "memory" })).toBe("ENGINE_MEMORY_LIMIT");
  expect(codeOf("rclone", { endedBy: "cancelled" })).toBe("CANCELLED");
});

test("Storj's program is not asked for parts that it refuses", async () => {
  const found: Present = { program: "uplink", version: "1", where };
  const { args } = await DRIVERS.uplink.command(taskOf("up"), found);
  expect(args.join(" ")).not.toContain("chunk-size");
  const large = await DRIVERS.uplink.command({ ...taskOf("up"), partBytes: 2 ** 30 }, found);
  expect(large.args).toContain("--parallelism-chunk-size=1073741824B");
});

test("a program that tells its key, or fails, does so in a log without it, and its home is gone afterwards", async () => {
  const program = join(folder, "s5cmd");
  await writeFile(
    program,
    `#!/bin/sh\necho "v9.9.9"\necho "$AWS_SECRET_ACCESS_KEY AccessDenied" >&2\n[ "$1" = version ]\n`,
  );
  await chmod(program, 0o755);
  const found = await DRIVERS.s5cmd.find({ ...where, searchPath: `${folder}:/usr/bin:/bin` });
  if ("missing" in found) throw new Error(found.missing);
  expect(found.version).toBe("9.9.9");
  const scratch = join(folder, "home");
  const { signal } = new AbortController();
  const moved = await runTransfer(DRIVERS.s5cmd, { found, task: { ...taskOf("up"), scratch } }, { ...limits, signal });
  expect(moved.fault?.code).toBe("ACCESS_DENIED");
  expect(moved.log).toContain("[secret] AccessDenied");
  expect(moved.log).not.toContain("very-secret");
  await expect(readFile(scratch)).rejects.toMatchObject({ code: "ENOENT" });
});

test("the table of flags has the presets there are, and names every engine", () => {
  expect(BENCH_FLAGS.preset.words).toEqual(Object.keys(BENCH_PRESETS));
  for (const name of ENGINE_NAMES) expect(BENCH_FLAGS.engines.says).toContain(name);
});
