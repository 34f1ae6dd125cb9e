import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FaultClass, Scene } from "./fault-class.ts";
import { sumsUnder } from "./final-names.ts";
import { sleep, slowly } from "./pace.ts";

/**
 * A power cut, with a real file system: ext4 in a file, which is told to stop at once and to forget what it has not
 * written (FS_IOC_SHUTDOWN without flushing its log). What a program wrote and did not sync is gone, names that it made
 * without syncing their folder too; mounted again, the file system replays its journal as after the real thing.
 */

const BOTH = ["up", "down"] as const;
const IMAGE_BYTES = 256 * 1024 * 1024;
/** _IOR('X', 125, __u32) and EXT4_GOING_FLAGS_NOLOGFLUSH, from the kernel's fs/ext4/ext4.h. Perl is part of every Debian. */
const CUT = `use Fcntl; sysopen(my $place, $ARGV[0], O_RDONLY) or die "open: $!";
my $flag = pack("L", 2); ioctl($place, 0x8004587d, $flag) or die "ioctl: $!";`;

function must(program: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync(program, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${program} failed: ${stderr}`);
}

const imageOf = (scene: Scene) => `${scene.folder}.disk`;
const targetsOf = (scene: Scene) => sumsUnder(join(scene.folder, "to"));
/** By trial folder: what lay in the target before, whose sums may be found there too. */
const before = new Map<string, Record<string, string>>();

/** Puts a file system of its own below the folder of the trial, with what lies there already. */
function standOnOwnDisk(scene: Scene): void {
  mkdirSync(join(scene.folder, "to"), { recursive: true });
  before.set(scene.folder, targetsOf(scene));
  writeImage(imageOf(scene));
  const place = mkdtempSync(join(tmpdir(), "tidemark-disk-"));
  must("mount", ["-o", "loop", imageOf(scene), place]);
  cpSync(scene.folder, place, { recursive: true });
  must("sync", ["-f", place]);
  must("umount", [place]);
  rmSync(place, { recursive: true });
  must("mount", ["-o", "loop", imageOf(scene), scene.folder]);
}

function writeImage(path: string): void {
  must("truncate", ["-s", String(IMAGE_BYTES), path]);
  must("mkfs.ext4", ["-q", "-F", path]);
}

/** Under final names, after the cut: the old file or the whole new one; and the new one where the program had said "done". */
function judgeDisk(scene: Scene, wasDone: boolean): string {
  const found = targetsOf(scene);
  const old = before.get(scene.folder) ?? {};
  const bad = Object.entries(scene.payload.sums)
    .map(([rel, sum]) => ({ rel: scene.payload.shape === "one" ? rel : `many/${rel}`, sum }))
    .filter(({ rel, sum }) => found[rel] !== sum && (wasDone || found[rel] !== old[rel]));
  if (bad.length === 0) return "";
  const what = wasDone ? "called restored, did not survive the power cut" : "a half file after the power cut";
  return `${bad.length} files, the first ${bad[0]?.rel}: ${what}`;
}

export const POWER_FAULTS: readonly FaultClass[] = [
  {
    name: "power-cut",
    says: "The power goes at any instant: what was written and not synced is gone; then the program is started again.",
    catalogue: [20],
    bar: [16],
    directions: BOTH,
    uncounted: true,
    flags: slowly,
    concurrency: 3,
    goesAgain: "when stopped",
    lastsMs: () => 20_000,
    arm: standOnOwnDisk,
    during: async (scene, copy) => {
      // One in three right after the end, when the program has called it done: that is where an unsynced rename shows.
      const atTheEnd = scene.random.next() < 1 / 3;
      const lifeMs = scene.random.next() * (scene.scale === "short" ? 1_600 : 4_000);
      await (atTheEnd ? copy.ended : Promise.race([copy.ended, sleep(lifeMs)]));
      must("perl", ["-e", CUT, scene.folder]);
      copy.kill("SIGKILL");
      await copy.ended;
      const wasDone = copy.said.some(({ type }) => type === "done");
      must("umount", [scene.folder]);
      // A mount namespace of another test may hold the file system that was cut, and mounting the image again would give that one.
      const left = `${imageOf(scene)}.left`;
      must("cp", ["--sparse=always", imageOf(scene), left]);
      must("mount", ["-o", "loop", left, scene.folder]);
      scene.note({ cut: wasDone ? "after the end" : "in mid-transfer" });
      if (scene.direction === "down") scene.note({ wrong: judgeDisk(scene, wasDone) });
      return scene.start();
    },
    check: (scene) => {
      const { wrong } = scene.facts;
      return typeof wrong === "string" && wrong !== "" ? [wrong] : [];
    },
  },
];

/** Whether a disk can lose its power here: it takes the right to mount a file, ext4 and perl. Tried once. */
export function canCutPower(): boolean {
  const folder = mkdtempSync(join(tmpdir(), "tidemark-power-"));
  const place = join(folder, "place");
  const image = join(folder, "image");
  mkdirSync(place);
  try {
    writeImage(image);
    must("mount", ["-o", "loop", image, place]);
  } catch {
    rmSync(folder, { recursive: true, force: true });
    return false;
  }
  writeFileSync(join(place, "unsynced"), "gone");
  const cut = spawnSync("perl", ["-e", CUT, place]).status === 0;
  spawnSync("umount", [place]);
  rmSync(folder, { recursive: true, force: true });
  return cut;
}
