import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { armFault, clearFaults, readFaults, readLog, setClock } from "../stage/store-control.ts";
import { openUploads, sumOfObject } from "./ask-store.ts";
import { executableBeside } from "./bundle.ts";
import { startCopy, type Copy, type Ending } from "./copy.ts";
import type { FaultClass, Scene } from "./fault-class.ts";
import { sumsUnder, watchFinalNames, type FinalNames } from "./final-names.ts";
import { judgeEnding, judgeManners, mostAtOnce, movedBytes } from "./judge.ts";
import { PART_BYTES, type Payload } from "./payload.ts";
import { planRequests } from "./plan-requests.ts";
import { createRandom, type Random, seedFrom } from "./random.ts";
import { putPayload, type Rig, storeKeys } from "./rig.ts";
import type { Direction } from "./toxics.ts";

/** One transfer under one class of faults, with a schedule drawn from one seed. */
export interface Trial {
  readonly faultClass: FaultClass;
  readonly direction: Direction;
  readonly seed: number;
  readonly scale: Scene["scale"];
}

export interface TrialResult {
  readonly class: string;
  readonly direction: Direction;
  readonly seed: number;
  /** Empty: everything held. */
  readonly problems: readonly string[];
  /** How often something did go wrong. */
  readonly faults: number;
  readonly ending: string;
  readonly tookMs: number;
  readonly bytes: number;
  readonly resentBytes: number;
  readonly facts: Readonly<Record<string, number | string>>;
  /** Does it again. */
  readonly replay: string;
}

const SHAPES: readonly Payload["shape"][] = ["one", "many"];
/** Of one connection through the proxy: the store's send buffer, the proxy's two, and the receiver's. */
const BUFFERED_BYTES = 8 * 1024 * 1024;
/** Process start and a slow machine. */
const BASE_MS = 90_000;
/** What a failed transfer may need beyond the watchdog. */
const GRACE_MS = 10_000;
const OLD = Buffer.from("what lay there before");
const OLD_SUM = createHash("sha256").update(OLD).digest("hex");
/** The problem of a trial that was over before anything could go wrong, on a machine that stood still for a moment. */
export const NOTHING_SHOWN = "nothing went wrong, so nothing was shown";

export const stallMsOf = (scale: Scene["scale"]): number => (scale === "short" ? 1_000 : 3_000);
const retryForMs = (scale: Scene["scale"]) => (scale === "short" ? 15_000 : 120_000);

export async function runTrial(rig: Rig, trial: Trial): Promise<TrialResult> {
  const { faultClass: one, direction, seed, scale } = trial;
  const random = createRandom(seedFrom(`${one.name} ${direction}`, seed));
  await rig.heal(seedFrom(one.name, seed));
  const shape = random.pick(one.shapes ?? SHAPES);
  const name = rig.fresh();
  const folder = join(rig.folder, "trials", name);
  mkdirSync(join(folder, "from"), { recursive: true });
  const payload = payloadOf(rig, { one, shape, folder, random });
  const file = Object.keys(payload.sums)[0] ?? "";
  const remoteName = payload.shape === "one" ? `${name}/${file}` : name;
  const ownObject = one.payload !== undefined || one.source === "own";
  if (direction === "down" && ownObject) await putPayload(rig, payload, remoteName);
  const key = direction === "up" || ownObject ? remoteName : await rig.stored(shape);
  const path = direction === "up" ? payload.path : join(folder, "to", payload.shape === "one" ? file : "many");
  const paths = new Map(
    Object.keys(payload.sums).map((rel) => [rel, payload.shape === "one" ? path : join(path, rel)]),
  );
  const hadOld = direction === "down" && random.next() < 0.5;
  if (direction === "down") for (const target of paths.values()) placeOld(target, hadOld);
  // What was stored for a restore is not part of the trial.
  await rig.heal(seedFrom(one.name, seed));

  const facts: Record<string, number | string> = {};
  const copies: Copy[] = [];
  const stallMs = (scale === "short" ? one.stallMs : undefined) ?? stallMsOf(scale);
  const provider = one.provider ?? random.pick(["minio", "other"]);
  const concurrency = one.concurrency ?? (random.next() < 0.5 ? 4 : null);
  const scene: Scene = {
    rig,
    seed,
    random,
    direction,
    payload,
    key,
    path,
    ...planRequests({ direction, payload, key }),
    stallMs,
    scale,
    folder,
    hit: async (requests, action) => {
      for (const request of requests) {
        const { op, key: target, partNumber, attempt } = request;
        await armFault(rig.store, {
          op,
          attempt,
          ...(target === "" ? {} : { keyPattern: target }),
          ...(partNumber === undefined ? {} : { partNumber }),
          action: action(request),
        });
      }
    },
    rule: async (rule) => {
      await armFault(rig.store, rule);
    },
    start: (other = {}) => {
      const local = other.path ?? path;
      const remote = `s3://${rig.store.bucket}/${key}`;
      const copy = startCopy({
        // Half of them by the executable, whose bytes go other ways.
        program: seed % 2 === 0 && one.nodeFlags === undefined ? executableBeside(rig.program) : rig.program,
        flags: {
          endpoint: one.endpoint?.(scene) ?? (one.through === "proxy" ? rig.proxy.endpoint : rig.store.endpoint),
          provider,
          "part-size": PART_BYTES,
          state: other.state ?? join(folder, "state"),
          "stall-after": `${stallMs}ms`,
          "retry-for": `${one.retryForMs?.[scale] ?? retryForMs(scale)}ms`,
          ...(concurrency === null ? {} : { concurrency }),
        },
        more: one.flags?.(scene) ?? [],
        ...(direction === "up" ? { from: local, to: remote } : { from: remote, to: local }),
        env: { ...storeKeys(rig.store), ...one.env?.(scene) },
        nodeFlags: one.nodeFlags ?? [],
      });
      copies.push(copy);
      return copy;
    },
    note: (more) => void Object.assign(facts, more),
    facts,
  };

  const allowed = new Map(
    [...paths].map(([rel, target]) => [target, new Set([payload.sums[rel] ?? "", ...(hadOld ? [OLD_SUM] : [])])]),
  );
  const names =
    direction === "down" && one.content === undefined
      ? watchFinalNames({ allowed })
      : ({ look: () => undefined, stop: () => [] } satisfies FinalNames);
  const problems: string[] = [];
  const startedAt = performance.now();
  await one.arm?.(scene);
  const deadlineMs = BASE_MS + GRACE_MS + 3 * stallMs + (one.lastsMs?.(scene) ?? 0);
  const ending = await runToEnd(scene, { one, copies, deadlineMs });
  const tookMs = performance.now() - startedAt;
  problems.push(...names.stop());
  if (ending === "hang") problems.push(`it was still running after ${Math.round(deadlineMs / 1000)} s`);
  else problems.push(...judgeEnding(one, ending));

  const faults = (await readFaults(rig.store)).reduce((sum, { fired }) => sum + fired, 0) + rig.proxy.seen().hits;
  const log = await readLog(rig.store);
  if (faults === 0 && one.uncounted === undefined) problems.push(NOTHING_SHOWN);
  if (ending !== "hang") problems.push(...((await one.check?.(scene, ending)) ?? []));
  await clearFaults(rig.store);
  await setClock(rig.store, 0);
  await rig.proxy.restart(1);

  const failed = ending === "hang" || ending.code !== 0;
  const oldOrNothing = one.content === undefined ? judgeLeftovers({ failed, direction, hadOld, paths }) : [];
  problems.push(...oldOrNothing);
  const endings = ending === "hang" ? [] : [ending];
  if (failed && one.mend !== null && ending !== "hang") {
    await one.mend?.(scene);
    const again = await withDeadline(scene.start(), BASE_MS + GRACE_MS);
    if (again === "hang") problems.push("started again without the fault, it hung");
    else if (again.code !== 0) {
      problems.push(
        `started again without the fault, it failed: ${again.fault ?? ""} ${again.sentence ?? again.stderr}`,
      );
    } else endings.push(again);
  }
  const succeeded = endings.at(-1)?.code === 0;
  if (succeeded && one.content === undefined) problems.push(...(await judgeContent(scene, { name, folder })));
  if (succeeded && direction === "up") {
    const open = await openUploads(rig.store, `${name}/`);
    if (open.length > 0) problems.push(`${open.length} unfinished multipart uploads were left at the store`);
  }
  problems.push(...judgeManners({ log, endings, secret: rig.store.secretKey }));

  const resentBytes = Math.max(0, movedBytes(log, direction) - payload.totalBytes);
  const stops = one.goesAgain === "when stopped" ? copies.length : 1;
  const all = one.goesAgain === "twice" ? Math.ceil(payload.totalBytes / PART_BYTES) : 0;
  const parts = faults * (one.partsPerFault ?? 1) + mostAtOnce(log) * stops + all;
  // The store counts what it gave to its kernel; of a cut answer, the buffers on the way are lost with the connection.
  const bound = parts * (PART_BYTES + (direction === "down" ? BUFFERED_BYTES : 0));
  if (one.content === undefined && resentBytes > bound) {
    problems.push(`${resentBytes} bytes went twice, more than the ${parts} parts that were hit or under way`);
  }
  unmountUnder(folder);
  // Thousands of them would fill the disk.
  rmSync(folder, { recursive: true, force: true });
  return {
    class: one.name,
    direction,
    seed,
    problems,
    faults,
    ending:
      ending === "hang" ? "hang" : (ending.fault ?? ending.failed[0]?.fault ?? `exit ${ending.code ?? ending.signal}`),
    tookMs: Math.round(tookMs),
    bytes: payload.totalBytes,
    resentBytes,
    facts,
    replay: `npm run prove -- --class ${one.name} --direction ${direction} --seed ${seed}${scale === "short" ? " --short" : ""}`,
  };
}

async function runToEnd(
  scene: Scene,
  about: { one: FaultClass; copies: Copy[]; deadlineMs: number },
): Promise<Ending | "hang"> {
  const { one, copies, deadlineMs } = about;
  const first = scene.start();
  let isOver = false;
  const timer = Promise.withResolvers<"hang">();
  const bell = setTimeout(() => timer.resolve("hang"), deadlineMs);
  const work = async () => {
    const last = (await one.during?.(scene, first)) ?? first;
    return last.ended;
  };
  const ending = await Promise.race([work(), timer.promise]);
  clearTimeout(bell);
  isOver = ending !== "hang";
  if (!isOver) {
    for (const copy of copies) copy.kill("SIGKILL");
    await Promise.all(copies.map((copy) => copy.ended));
  }
  return ending;
}

/** Small disks that a class mounted, below the target or below the whole trial. */
function unmountUnder(folder: string): void {
  for (const place of [join(folder, "to"), folder]) spawnSync("umount", [place]);
}

async function withDeadline(copy: Copy, ms: number): Promise<Ending | "hang"> {
  const timer = Promise.withResolvers<"hang">();
  const bell = setTimeout(() => timer.resolve("hang"), ms);
  const ending = await Promise.race([copy.ended, timer.promise]);
  clearTimeout(bell);
  if (ending === "hang") copy.kill("SIGKILL");
  return ending;
}

/** The usual files of the rig, a copy of them, or what the class makes for itself. */
function payloadOf(
  rig: Rig,
  about: { one: FaultClass; shape: Payload["shape"]; folder: string; random: Random },
): Payload {
  const { one, shape, folder, random } = about;
  const from = join(folder, "from");
  if (one.payload !== undefined) return one.payload({ folder: from, random, rig });
  const usual = rig.payload(shape);
  if (one.source === undefined) return usual;
  const path = join(from, basename(usual.path));
  cpSync(usual.path, path, { recursive: true });
  return { ...usual, path };
}

function placeOld(path: string, hadOld: boolean): void {
  mkdirSync(dirname(path), { recursive: true });
  if (hadOld) writeFileSync(path, OLD);
}

/** After a failure: of every file the old one, nothing, or (in a folder) the whole new one, which `names` has seen. */
function judgeLeftovers(about: {
  failed: boolean;
  direction: Direction;
  hadOld: boolean;
  paths: ReadonlyMap<string, string>;
}): string[] {
  const { failed, direction, hadOld, paths } = about;
  if (!failed || direction === "up" || !hadOld) return [];
  const sums = new Map([...paths.values()].map((path) => [path, sumsUnder(dirname(path))]));
  const missing = [...sums].filter(([path, found]) => found[path.slice(path.lastIndexOf("/") + 1)] === undefined);
  return missing.map(([path]) => `the file that was there before is gone: ${path}`);
}

async function judgeContent(scene: Scene, about: { name: string; folder: string }): Promise<string[]> {
  const { payload, direction, rig, key } = scene;
  const problems: string[] = [];
  if (direction === "down") {
    const found = sumsUnder(join(about.folder, "to"));
    const wanted = Object.fromEntries(
      Object.entries(payload.sums).map(([rel, sum]) => [payload.shape === "one" ? rel : `many/${rel}`, sum]),
    );
    for (const [rel, sum] of Object.entries(wanted)) {
      if (found[rel] === undefined) problems.push(`${rel} is missing`);
      else if (found[rel] !== sum) problems.push(`wrong bytes in ${rel}`);
    }
    const more = Object.keys(found).filter((rel) => wanted[rel] === undefined);
    if (more.length > 0) problems.push(`left behind: ${more.join(", ")}`);
    return problems;
  }
  for (const [rel, sum] of Object.entries(payload.sums)) {
    const found = await sumOfObject(rig.store, payload.shape === "one" ? key : `${key}/${rel}`);
    if (found === null) problems.push(`${rel} is not in the store`);
    else if (found !== sum) problems.push(`wrong bytes in the object ${rel}`);
  }
  return problems;
}
