import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { keysInEnv } from "../stage/keys-in-env.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { ROOT, inShell } from "../stage/start-process.ts";
import { testedWorker } from "../stage/start-worker.ts";

/** Disks as containers have them: a root that nobody may write to, and a small or a full `/tmp`, in a mount namespace of its own. */
let stage: Stage;
let file: string;
beforeAll(async () => {
  stage = await openStage();
  file = join(stage.dir, "a.bin");
  writeFileSync(file, Buffer.alloc(1_000, 1));
});
afterAll(() => stage.close());

const READ_ONLY = [
  "mount --bind / /",
  "mount -o remount,ro,bind /",
  // Mounts below it stay as they are.
  "for at in /tmp /var /root /home /work /run /builds; do mountpoint -q $at && mount -o remount,ro,bind $at; done",
];
/** In place of `/tmp`, where this project itself may lie. */
const SMALL_TMP = (size: string) => [`mount -t tmpfs -o size=${size} tmpfs /mnt`];
const FULL_TMP = [...SMALL_TMP("16k"), "head -c 20000 /dev/zero > /mnt/fill 2>/dev/null"];

/** Copies a file after these mounts. */
function copyAfter(
  mounts: readonly string[],
  { key, tmp }: { key: string; tmp: "/mnt" | "/tmp" },
): Promise<{ code: number | null; output: string }> {
  return runAfter([...mounts, `exec tidemark cp '${file}' 's3://${stage.store.bucket}/mounts/${key}'`], tmp);
}

/** Runs a script in which `tidemark` is the worker, in a mount namespace of its own. */
function runAfter(script: readonly string[], tmp: string): Promise<{ code: number | null; output: string }> {
  const bin = join(stage.dir, "bin");
  mkdirSync(bin, { recursive: true });
  const start = `#!/bin/sh\nexec ${inShell(testedWorker())} "$@"\n`;
  writeFileSync(join(bin, "tidemark"), start, { mode: 0o755 });
  const child = spawn("unshare", ["--mount", "sh", "-c", script.join("\n")], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: `${bin}:${process.env["PATH"] ?? ""}`,
      NODE_ENV: "production",
      ...keysInEnv(stage.store),
      HOME: "/root",
      TMPDIR: tmp,
    },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
  return new Promise((done) => child.once("close", (code) => done({ code, output })));
}

describe.runIf(process.getuid?.() === 0)("a disk", () => {
  test("whose root is read-only has the journal in the temporary folder, which is said", async () => {
    const at = { key: "read-only", tmp: "/mnt" } as const;
    const { code, output } = await copyAfter([...READ_ONLY, ...SMALL_TMP("1m")], at);
    expect({ code, output }).toMatchObject({ code: 0 });
    expect(output).toMatch(/in \/mnt\/tidemark-0: .*cannot be written.*--state/);
  });

  test("where nothing at all can be written is named with the flag that helps", async () => {
    const { code, output } = await copyAfter(READ_ONLY, { key: "nothing", tmp: "/tmp" });
    expect(code).toBe(1);
    expect(output.trim().split("\n")).toHaveLength(1);
    expect(output).toContain("--state DIR");
  });

  test("whose temporary folder is full copies all the same where the state has a place, and names the flag where it has none", async () => {
    expect(await copyAfter(FULL_TMP, { key: "full-tmp", tmp: "/mnt" })).toMatchObject({ code: 0 });
    const { code, output } = await copyAfter([...READ_ONLY, ...FULL_TMP], { key: "full", tmp: "/mnt" });
    expect(code).toBe(7);
    expect(output).toMatch(/\/mnt\/tidemark-0\/.*not enough free disk space/);
    expect(output).toContain("--state DIR");
  });

  test("that is small holds the state, and that of the checkpoints is large: doctor, status and the first capture say so", async () => {
    const watched = join(stage.dir, "large", "run");
    const to = `--state /mnt/state --to 's3://${stage.store.bucket}/small-disk' --watch '${watched}' --run small`;
    const program = `mkdir -p '${watched}/checkpoint-1'; echo '{"global_step": 1}' > '${watched}/checkpoint-1/trainer_state.json'; echo STATUS; tidemark status --state /mnt/state`;
    const script = [
      ...SMALL_TMP("200m"),
      `mkdir -p '${watched}'`,
      `tidemark doctor --state /mnt/state --watch '${watched}'`,
      "echo RUN",
      `tidemark run ${to} --settle 200ms -- sh -c "${program.replaceAll('"', String.raw`\"`)}"`,
    ];
    const { output } = await runAfter(script, "/tmp");
    const says =
      /aptures of \S+\/large\/run \([\d.]+ [GT]iB free\) are copied to another disk, that of \/mnt\/state \([\d.]+ MiB free\)/;
    const [doctor = "", ran = ""] = output.split("RUN\n");
    const [, status = ""] = ran.split("STATUS\n");
    // Once by `status`, while the program ran, and once with the first capture.
    const times = [doctor, status].map((text) => [...text.matchAll(new RegExp(says, "g"))].length);
    expect(times, output).toEqual([1, 2]);
    expect(status).toContain("Safe: small step 1");
    expect(output).toContain(`--state ${join(stage.dir, "large", ".tidemark-state")}`);
  });
});
