import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { keysInEnv } from "../stage/keys-in-env.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { ROOT } from "../stage/start-process.ts";
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
  const worker = resolve(ROOT, testedWorker());
  const script = [...mounts, 'exec "$1" "$2" cp "$3" "$4"'].join("\n");
  const to = `s3://${stage.store.bucket}/mounts/${key}`;
  const child = spawn("unshare", ["--mount", "sh", "-c", script, "sh", process.execPath, worker, file, to], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: process.env["PATH"] ?? "",
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
});
