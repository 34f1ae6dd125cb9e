import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { sumOfObject } from "./ask-store.ts";
import type { FaultClass, Scene } from "./fault-class.ts";
import { sleep, slowly } from "./pace.ts";

/** What this machine can do to a transfer: names, disks. */

const BOTH = ["up", "down"] as const;
const HOST = "store.tidemark.test";
const SHIM = ["--import", pathToFileURL(join(import.meta.dirname, "shim.ts")).href];
const untilOf = (scene: Scene) => join(scene.folder, "fault-is-over");
const shim = (scene: Scene, about: Record<string, unknown>) => ({
  TIDEMARK_SHIM: JSON.stringify({ until: untilOf(scene), ...about }),
});
const mend = async (scene: Scene) => writeFileSync(untilOf(scene), "");
const byName = (scene: Scene) => `http://${HOST}:${scene.rig.store.port}`;

/** One of the files in the middle, which is not the only one. */
const victimOf = (scene: Scene): string => Object.keys(scene.payload.sums)[4] ?? "";

export const MACHINE_FAULTS: readonly FaultClass[] = [
  {
    name: "name-unresolved",
    says: "The store's name does not resolve for a while.",
    catalogue: [32],
    bar: [1],
    directions: BOTH,
    uncounted: true,
    nodeFlags: SHIM,
    endpoint: byName,
    lastsMs: () => 5_000,
    env: (scene) =>
      shim(scene, {
        name: { host: HOST, failMs: 1_200, code: scene.random.pick(["EAI_AGAIN", "ENOTFOUND", "ESERVFAIL"]) },
      }),
  },
  {
    name: "name-unknown",
    retryForMs: { short: 1_500 },
    says: "The store's name never resolves.",
    catalogue: [32],
    bar: [1],
    directions: BOTH,
    uncounted: true,
    nodeFlags: SHIM,
    endpoint: byName,
    mustEnd: ["NAME_NOT_RESOLVED"],
    mend,
    lastsMs: ({ scale }) => (scale === "short" ? 15_000 : 120_000),
    env: (scene) => shim(scene, { name: { host: HOST, failMs: 1e9, code: "ENOTFOUND" } }),
  },
  {
    name: "slow-disk",
    says: "The disk takes longer for each access than the watchdog waits for a byte.",
    catalogue: [33],
    bar: [29],
    directions: BOTH,
    shapes: ["one"],
    uncounted: true,
    nodeFlags: SHIM,
    concurrency: 2,
    stallMs: 500,
    lastsMs: () => 60_000,
    payload: ({ folder, rig }) => {
      const small = join(folder, "slow.bin");
      return { ...rig.payload("one"), ...fileOf(small, 300_000) };
    },
    env: (scene) => shim(scene, { slow: { path: "slow.bin", ms: 700 } }),
    check: (_, ending) => (ending.retries === 0 ? [] : [`${ending.retries} parts were given up because of the disk`]),
  },
  {
    name: "read-error",
    says: "One file of a folder cannot be read (EIO); the others can.",
    catalogue: [23],
    bar: [18],
    directions: ["up"],
    shapes: ["many"],
    uncounted: true,
    nodeFlags: SHIM,
    mustEnd: ["READ_FAILED"],
    mend,
    env: (scene) => shim(scene, { broken: { path: victimOf(scene), code: "EIO" } }),
    check: async (scene) => {
      const problems: string[] = [];
      for (const name of Object.keys(scene.payload.sums)) {
        const found = await sumOfObject(scene.rig.store, `${scene.key}/${name}`);
        if (name === victimOf(scene) && found !== null) problems.push("the unreadable file is in the store");
        if (name !== victimOf(scene) && found === null) problems.push(`${name} was not sent although it can be read`);
      }
      return problems;
    },
  },
];

function fileOf(path: string, sizeBytes: number) {
  const bytes = Buffer.alloc(sizeBytes, path);
  writeFileSync(path, bytes);
  const sum = createHash("sha256").update(bytes).digest("hex");
  const name = path.slice(path.lastIndexOf("/") + 1);
  return { path, sums: { [name]: sum }, sizes: { [name]: sizeBytes }, totalBytes: sizeBytes };
}

/** Whether a small disk can be made here: it takes the right to mount. */
export function canMount(): boolean {
  const place = join("/tmp", `tidemark-mount-${process.pid}`);
  mkdirSync(place, { recursive: true });
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", place]).status === 0;
  if (mounted) spawnSync("umount", [place]);
  rmSync(place, { recursive: true, force: true });
  return mounted;
}

const MIB = 1024 * 1024;
const diskOf = (scene: Scene) => dirname(scene.path);

/** These need the right to mount a small disk. */
export const DISK_FAULTS: readonly FaultClass[] = [
  {
    name: "disk-too-small",
    says: "The disk has not enough room for what is restored.",
    catalogue: [30],
    bar: [17],
    directions: ["down"],
    shapes: ["one"],
    uncounted: true,
    mustEnd: ["NO_SPACE"],
    arm: (scene) => mountAt(diskOf(scene), 8 * MIB),
    mend: async (scene) => mountAt(diskOf(scene), 64 * MIB),
  },
  {
    name: "disk-fills",
    says: "Somebody else fills the disk while a file is being restored.",
    catalogue: [30],
    bar: [17],
    directions: ["down"],
    shapes: ["one"],
    uncounted: true,
    mayEnd: ["NO_SPACE"],
    flags: slowly,
    lastsMs: () => 10_000,
    arm: (scene) => mountAt(diskOf(scene), 2 * scene.payload.totalBytes),
    during: async (scene, copy) => {
      const filler = join(diskOf(scene), "somebody-elses");
      await sleep(700);
      for (;;) {
        const { bavail, bsize } = statfsSync(diskOf(scene));
        if (bavail * bsize < 65_536) break;
        fill(filler, Math.max(4096, bavail * bsize - 4096));
      }
      // It stops with a sentence, or waits for room and goes on: both are right, and room is made for both.
      await Promise.race([copy.ended, sleep(4_000)]);
      rmSync(filler, { force: true });
      return undefined;
    },
  },
];

/** Takes up to so much room; what is not there is not taken. */
function fill(path: string, sizeBytes: number): void {
  try {
    writeFileSync(path, Buffer.alloc(sizeBytes), { flag: "a" });
  } catch (error) {
    // The restore wrote meanwhile: the disk is full, which is what was wanted.
    if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
  }
}

async function mountAt(place: string, sizeBytes: number): Promise<void> {
  const old = new Map<string, Buffer>();
  const name = "one.bin";
  try {
    old.set(name, readFileSync(join(place, name)));
  } catch {
    // Nothing lay there before.
  }
  spawnSync("umount", [place]);
  const { status, stderr } = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${sizeBytes}`, "tmpfs", place]);
  if (status !== 0) throw new Error(`no small disk could be made: ${String(stderr)}`);
  for (const [file, bytes] of old) writeFileSync(join(place, file), bytes);
}
