import { createHash } from "node:crypto";
import {
  appendFileSync,
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  writeSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { readCounters, resetCounters } from "../stage/store-control.ts";
import { listKeys, putRaw, sumOfObject } from "./ask-store.ts";
import type { Copy, Ending } from "./copy.ts";
import type { FaultClass, Scene } from "./fault-class.ts";
import { sleep, slowly, whenAnswered, whenStarted } from "./pace.ts";
import { PART_BYTES, writeFileOf } from "./payload.ts";

/** What can happen to the program, to its files, and through a second one beside it. */

const BOTH = ["up", "down"] as const;
const MIB = 1024 * 1024;
const large = ({ folder }: { folder: string }) => writeFileOf(join(folder, "one.bin"), 31 * MIB + 5);
/** The whole life of a slowed transfer, with the start of the process. */
const lifeMs = (scene: Scene) => (scene.scale === "short" ? 1_400 : 3_500);

const sumOf = (path: string) => createHash("sha256").update(readFileSync(path)).digest("hex");

/** Bytes of whole parts that lie on the disk under a temporary name. */
function partsOnDisk(scene: Scene): number {
  const folder = dirname(scene.path);
  const names = readdirSync(folder).filter((name) => name !== "one.bin");
  const source = readFileSync(scene.payload.path);
  let whole = 0;
  for (const name of names) {
    const found = readFileSync(join(folder, name));
    for (let at = 0; at < source.length; at += PART_BYTES) {
      const end = Math.min(source.length, at + PART_BYTES);
      if (found.length >= end && found.compare(source, at, end, at, end) === 0) whole += end - at;
    }
  }
  return whole;
}

const acknowledged = async (scene: Scene) =>
  (await readCounters(scene.rig.store, "UploadPart")).targets.filter(({ succeeded }) => succeeded > 0).length;

const doneOf = (ending: Ending) => {
  const line = ending.stdout.split("\n").find((one) => one.includes('"type":"done"'));
  const value: unknown = line === undefined ? {} : JSON.parse(line);
  const { bytes, sentBytes } = value as { bytes?: number; sentBytes?: number };
  return { bytes: bytes ?? 0, sentBytes: sentBytes ?? 0 };
};

/** Files that are odd in themselves, with nothing going wrong. */
const NOTHING_WRONG = {
  catalogue: [],
  bar: [27],
  directions: BOTH,
  uncounted: true,
  partsPerFault: 0,
} as const satisfies Partial<FaultClass>;

export const PROCESS_FAULTS: readonly FaultClass[] = [
  {
    name: "killed",
    says: "The program is killed (kill -9) at any instant, and started again.",
    catalogue: [20, 31],
    bar: [12, 13],
    directions: BOTH,
    payload: large,
    uncounted: true,
    flags: slowly,
    concurrency: 3,
    goesAgain: "when stopped",
    lastsMs: () => 10_000,
    during: async (scene, first) => {
      let copy: Copy = first;
      const kills = scene.scale === "short" ? scene.random.whole(1, 2) : 1;
      for (let done = 0; done < kills; done++) {
        const ended = await Promise.race([copy.ended, sleep(scene.random.next() * lifeMs(scene))]);
        // Killed after its work is done, it has nothing to go on with: the next one is another copy.
        if (ended !== undefined || copy.said.some(({ type }) => type === "done")) return copy;
        copy.kill("SIGKILL");
        await copy.ended;
        if (copy.said.some(({ type }) => type === "done")) {
          // The word of its end was on its way already: what follows is another copy, and is counted by itself.
          await resetCounters(scene.rig.store);
          return scene.start();
        }
        if (scene.direction === "up") scene.note({ acknowledgedParts: await acknowledged(scene) });
        else scene.note({ acknowledgedBytes: partsOnDisk(scene) });
        copy = scene.start();
      }
      return copy;
    },
    check: async (scene, ending) => {
      if (scene.direction === "up") {
        const { targets } = await readCounters(scene.rig.store, "UploadPart");
        const again = targets.reduce((sum, { succeeded }) => sum + Math.max(0, succeeded - 1), 0);
        scene.note({ resentParts: again });
        // What was under way when it was killed may have to go again.
        return again <= 2 * 3 ? [] : [`${again} parts that the store had were sent again`];
      }
      const { bytes, sentBytes } = doneOf(ending);
      scene.note({ keptBytes: bytes - sentBytes });
      return [];
    },
  },
  {
    name: "interrupted",
    says: "Somebody presses Ctrl-C, or the machine is told to stop, in mid-transfer.",
    catalogue: [19],
    bar: [14],
    directions: BOTH,
    uncounted: true,
    flags: slowly,
    stopped: [130, 143],
    lastsMs: () => 5_000,
    during: async (scene, copy) => {
      await whenStarted(copy);
      await Promise.race([copy.ended, sleep(scene.random.next() * 900)]);
      const stoppedAt = performance.now();
      copy.kill(scene.random.pick(["SIGINT", "SIGTERM"]));
      await copy.ended;
      scene.note({ stopMs: Math.round(performance.now() - stoppedAt) });
      return undefined;
    },
  },
  {
    name: "frozen",
    says: "The program is frozen for longer than the watchdog waits, as when a laptop sleeps.",
    catalogue: [3],
    bar: [2],
    directions: BOTH,
    uncounted: true,
    flags: slowly,
    lastsMs: ({ stallMs }) => 3 * stallMs,
    during: async (scene, copy) => {
      await whenStarted(copy);
      await Promise.race([copy.ended, sleep(scene.random.next() * 700)]);
      copy.kill("SIGSTOP");
      await sleep(2 * scene.stallMs);
      copy.kill("SIGCONT");
      return undefined;
    },
  },
  {
    name: "source-changes",
    says: "The file is appended to, cut, overwritten or replaced while it is being sent.",
    catalogue: [23],
    bar: [19],
    directions: ["up"],
    shapes: ["one"],
    source: "own",
    content: "own",
    uncounted: true,
    flags: slowly,
    mayEnd: ["SOURCE_CHANGED"],
    during: async (scene, copy) => {
      await whenAnswered(scene, copy, { op: "CreateMultipartUpload", count: 1 });
      await sleep(scene.random.next() * 500);
      change(scene);
      return undefined;
    },
    check: async (scene, ending) => {
      const found = await sumOfObject(scene.rig.store, scene.key);
      if (ending.code !== 0) return found === null ? [] : ["it failed, and left an object all the same"];
      const versions = [sumOf(scene.path), ...Object.values(scene.payload.sums)];
      return versions.includes(found ?? "") ? [] : ["the object is neither the old file nor the new one"];
    },
  },
  {
    name: "same-command-twice",
    says: "The same copy is started a second time while the first runs.",
    catalogue: [35],
    bar: [25],
    directions: BOTH,
    uncounted: true,
    goesAgain: "twice",
    flags: slowly,
    mayEnd: ["COPY_RUNNING"],
    during: async (scene) => {
      await sleep(scene.random.next() * 600);
      const { code, fault } = await scene.start().ended;
      scene.note({ second: fault ?? `exit ${code}` });
      return undefined;
    },
    // It may have begun after the first had ended.
    check: ({ facts: { second } }) =>
      second === "COPY_RUNNING" || second === "exit 0" ? [] : [`the second one ended with ${second}`],
  },
  {
    name: "two-writers",
    says: "Two machines send different files to the same key at the same time.",
    catalogue: [35],
    bar: [25],
    directions: ["up"],
    shapes: ["one"],
    source: "own",
    content: "own",
    uncounted: true,
    flags: slowly,
    mayEnd: ["SIZE_MISMATCH", "OBJECT_CHANGED", "ALREADY_EXISTS"],
    during: async (scene) => {
      const other = join(scene.folder, "from", "other.bin");
      scene.note({ other: writeFileOf(other, scene.payload.totalBytes).sums["other.bin"] ?? "" });
      await sleep(scene.random.next() * 400);
      await scene.start({ path: other, state: join(scene.folder, "other-state") }).ended;
      return undefined;
    },
    check: async (scene) => {
      const found = await sumOfObject(scene.rig.store, scene.key);
      const versions = [sumOf(scene.path), sumOf(join(scene.folder, "from", "other.bin"))];
      return versions.includes(found ?? "") ? [] : ["the object is neither the one file nor the other"];
    },
  },
  {
    name: "many-small",
    says: "Nothing goes wrong: two hundred small files use few connections, and each is sent once.",
    catalogue: [28],
    bar: [27],
    directions: BOTH,
    through: "proxy",
    concurrency: 8,
    stallMs: 10_000,
    uncounted: true,
    partsPerFault: 0,
    payload: ({ folder, random }) => {
      const files = Array.from({ length: 200 }, (_, index) => ({
        name: `small-${index}.bin`,
        bytes: random.whole(1, 5_000),
      }));
      return folderOf(join(folder, "many"), files);
    },
    check: ({ rig }, ending) => [
      // A busy machine closes some idle ones and opens them again; one for each file would be 200.
      ...(rig.proxy.seen().connections > 24 ? [`${rig.proxy.seen().connections} connections for 8 at a time`] : []),
      ...(ending.retries === 0 ? [] : [`${ending.retries} were tried again`]),
    ],
  },
  {
    name: "sizes",
    says: "Nothing goes wrong: files of 0 and 1 byte, of a part and one byte more or less.",
    ...NOTHING_WRONG,
    payload: ({ folder }) =>
      folderOf(
        join(folder, "many"),
        [0, 1, PART_BYTES - 1, PART_BYTES, PART_BYTES + 1, 2 * PART_BYTES].map((bytes) => ({
          name: `of-${bytes}.bin`,
          bytes,
        })),
      ),
  },
  {
    name: "names",
    says: "Nothing goes wrong: names with spaces, signs, other scripts, and as long as they may be.",
    ...NOTHING_WRONG,
    payload: ({ folder }) =>
      folderOf(
        join(folder, "many"),
        [
          "with space.bin",
          "a+b&c=d?e#f.bin",
          "percent%20%2F%.bin",
          "ünïcödé-文字-🌊.bin",
          "quote'\"`$(x);.bin",
          ".hidden",
          "~tilde!*()[]{}.bin",
          `${"long".repeat(60)}.bin`,
        ].map((name, index) => ({ name, bytes: 100 + index })),
      ),
  },
  {
    name: "hostile-names",
    says: "Keys in the bucket would write outside the folder or cannot exist on a disk: these are named, the others are fetched.",
    catalogue: [],
    bar: [27, 30],
    directions: ["down"],
    shapes: ["many"],
    source: "own",
    content: "own",
    uncounted: true,
    mustEnd: ["HOSTILE_NAME"],
    mend: null,
    arm: async (scene) => {
      const evil = scene.random.pick(["../evil", "a/../../evil", "/evil", "a//evil", "ev\u0001il", "a/./evil"]);
      scene.note({ evil });
      await putRaw(scene.rig.store, `${scene.key}/${evil}`, Buffer.from("evil"));
    },
    check: async (scene) => {
      const found = readdirSync(scene.folder, { recursive: true, encoding: "utf8" }).filter((name) =>
        name.includes("evil"),
      );
      const keys = await listKeys(scene.rig.store, scene.key);
      return [
        ...(found.length === 0 ? [] : [`it wrote ${found.join(", ")}`]),
        ...(keys.some((key) => key.includes("il")) ? [] : ["the hostile key is not in the bucket"]),
      ];
    },
  },
];

function change(scene: Scene): void {
  const { path, random } = scene;
  switch (random.whole(1, 4)) {
    case 1:
      appendFileSync(path, "more");
      break;
    case 2:
      truncateSync(path, Math.floor(statSync(path).size / 2));
      break;
    case 3: {
      const file = openSync(path, "r+");
      writeSync(file, Buffer.from("overwritten"), 0, 11, random.whole(0, scene.payload.totalBytes - 11));
      closeSync(file);
      break;
    }
    default: {
      const other = `${path}.new`;
      writeFileSync(other, Buffer.alloc(scene.payload.totalBytes, 7));
      renameSync(other, path);
    }
  }
}

function folderOf(path: string, files: readonly { name: string; bytes: number }[]) {
  const sums: Record<string, string> = {};
  const sizes: Record<string, number> = {};
  for (const { name, bytes } of files) {
    const target = join(path, name);
    mkdirSync(dirname(target), { recursive: true });
    sums[name] = writeFileOf(target, bytes).sums[target.slice(target.lastIndexOf("/") + 1)] ?? "";
    sizes[name] = bytes;
  }
  return {
    shape: "many" as const,
    path,
    sums,
    sizes,
    totalBytes: Object.values(sizes).reduce((sum, one) => sum + one, 0),
  };
}
