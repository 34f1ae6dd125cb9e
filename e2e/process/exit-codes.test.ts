import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EXIT_CODES } from "#protocol/faults/exit-codes.ts";
import { PRODUCT_VERSION } from "#protocol/base/version.ts";
import { keysInEnv } from "../stage/keys-in-env.ts";
import { IMPLEMENTATIONS, stageOver, type Staged, waitSafe } from "../stage/stage-over.ts";
import { runOnce } from "../stage/run-once.ts";
import { ROOT } from "../stage/start-process.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { testedWorker, WORKER_SOURCES } from "../stage/start-worker.ts";
import { hashFolder, writeCheckpoint } from "../stage/write-checkpoint.ts";

/** Each code of the table, from a command that ends with it. */
/** A disk that refuses colons, as exFAT does: what Node makes new there fails as it does on such a one. */
const WITHOUT_COLONS = `
  import promises from "node:fs/promises";
  import { syncBuiltinESMExports } from "node:module";
  import { basename } from "node:path";
  const { writeFile } = promises;
  promises.writeFile = async (path, ...rest) => {
    if (basename(String(path)).includes(":")) throw Object.assign(new Error("EINVAL"), { code: "EINVAL" });
    return writeFile(path, ...rest);
  };
  syncBuiltinESMExports();
`;

describe.each(IMPLEMENTATIONS)("over %s", (implementation) => {
  let staged: Staged;
  beforeAll(async () => {
    staged = await stageOver(implementation);
  });
  afterAll(() => staged.close());

  /** Returns the exit code of a worker around this program. */
  async function around(name: string, program: readonly string[], flags: string[] = []): Promise<number | null> {
    return (await (await staged.startNode({ name, run: `codes-${name}`, program, flags })).exited).code;
  }

  async function stoppedBy(signal: "SIGINT" | "SIGTERM"): Promise<number | null> {
    const worker = await staged.startNode({ name: signal.toLowerCase(), run: "codes" });
    await waitUntil("it watches", () => worker.lines.some((line) => line.startsWith("Watching")));
    return (await worker.stop(signal)).code;
  }

  const BY_WORKERS: Record<number, () => Promise<number | null>> = {
    9: () => around("unsafe", [process.execPath, "-e", "0"], ["--require-safe"]),
    126: async () => {
      const program = join(staged.dir, "not-executable");
      writeFileSync(program, "");
      return around("no-right", [program]);
    },
    127: () => around("no-program", ["a-program-nobody-has"]),
    130: () => stoppedBy("SIGINT"),
    143: () => stoppedBy("SIGTERM"),
  };

  test.each(Object.entries(BY_WORKERS))("a worker ends with %s", async (code, work) => {
    expect(await work()).toBe(Number(code));
  });

  test("a restore ends with 8 where the disk cannot hold a name, with all other files in place", async () => {
    const { folderOf, dir } = staged;
    const hook = join(dir, "without-colons.mjs");
    writeFileSync(hook, WITHOUT_COLONS);
    mkdirSync(folderOf("old"), { recursive: true });
    const source = writeCheckpoint({ folder: folderOf("old"), step: 4, modelBytes: 4, optimizerBytes: 4, loss: 1 });
    writeFileSync(join(source, "at 12:30.txt"), "x");
    await staged.startNode({
      name: "old",
      run: "old",
      entry: WORKER_SOURCES,
      env: { NODE_OPTIONS: `--import ${hook}` },
    });
    await waitSafe(staged, "old");
    const target = join(dir, "back");
    const { code, stderr } = await staged.restore("old", "old", target);
    expect({ code, stderr }).toMatchObject({ code: 8 });
    expect(stderr).toContain("at 12:30.txt (the disk refuses its name)");
    const { "at 12:30.txt": leftOut, ...others } = hashFolder(source);
    expect(leftOut).toBeDefined();
    expect(hashFolder(target)).toEqual(others);
  });

  // Commands of a store ask nobody else.
  if (implementation === "hub") return;

  let at: string;
  beforeAll(async () => {
    at = `s3://${staged.store.bucket}/codes`;
    mkdirSync(join(staged.dir, "src"));
    writeFileSync(join(staged.dir, "src/a"), "a");
    writeFileSync(join(staged.dir, "big"), Buffer.alloc(3 * 1024 * 1024, 7));
    expect(await tidemark(["cp", join(staged.dir, "src"), `${at}/src`])).toBe(0);
    expect(await tidemark(["cp", join(staged.dir, "big"), `${at}/big`])).toBe(0);
  });

  async function tidemark(args: readonly string[], env: Record<string, string> = {}): Promise<number | null> {
    const { store, dir } = staged;
    const keys = {
      ...keysInEnv(store),
      TIDEMARK_STATE: join(dir, "own-state"),
      TIDEMARK_RETRY_FOR: "1s",
    };
    return (await runOnce(testedWorker(), [...args], { env: { ...keys, ...env } })).code;
  }

  const BY_COMMANDS: Record<number, () => Promise<number | null>> = {
    0: () => tidemark(["ls", `${at}/`]),
    1: () => tidemark(["cp", `${at}/big`, join(staged.dir, "src/a/below")]),
    2: () => tidemark(["cp", "a"]),
    3: () => tidemark(["cat", `${at}/nothing`]),
    4: () => tidemark(["ls", at], { AWS_SECRET_ACCESS_KEY: "another" }),
    5: () => tidemark(["ls", at], { AWS_ENDPOINT_URL: "http://127.0.0.1:9" }),
    6: async () => {
      writeFileSync(join(staged.dir, "src/a"), "b");
      return tidemark(["check", join(staged.dir, "src"), `${at}/src`]);
    },
    8: async () => {
      symlinkSync(join(staged.dir, "nowhere"), join(staged.dir, "src/broken"));
      return tidemark(["cp", join(staged.dir, "src"), `${at}/partly`]);
    },
  };

  test.each(Object.entries(BY_COMMANDS))("a command ends with %s", async (code, work) => {
    expect(await work()).toBe(Number(code));
  });

  test("a full disk ends with 7", async () => {
    const small = join(staged.dir, "small");
    mkdirSync(small);
    const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", small]).status === 0;
    try {
      // Without the right to mount, a folder that cannot be made has another code.
      const target = mounted ? join(small, "big") : join(staged.dir, "big/below");
      expect(await tidemark(["cp", `${at}/big`, target])).toBe(mounted ? 7 : 1);
    } finally {
      if (mounted) spawnSync("umount", [small]);
      rmSync(small, { recursive: true, force: true });
    }
  });

  test("no code of the table is left out", () => {
    expect([...Object.keys({ ...BY_WORKERS, ...BY_COMMANDS }).map(Number), 7].toSorted((a, b) => a - b)).toEqual(
      EXIT_CODES.map(({ code }) => code),
    );
  });
});

test("at its end garbage is collected, without which a thread that compiles could wait for that for good", () => {
  const { status, stdout } = spawnSync(process.execPath, ["--trace-gc", join(ROOT, "worker/main.ts"), "version"], {
    encoding: "utf8",
  });
  expect(status).toBe(0);
  // Whatever was collected before its last word, this comes after it.
  expect(stdout.slice(stdout.indexOf(PRODUCT_VERSION))).toMatch(/ms: Mark-Compact .* testing;/);
});
