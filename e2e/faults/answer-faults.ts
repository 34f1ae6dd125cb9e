import type { FaultClass, PlannedRequest, Scene } from "./fault-class.ts";
import { DATA_OPERATIONS, isData, mostAtOnce } from "./judge.ts";
import { sleep, slowly, whenAnswered } from "./pace.ts";
import { clearFaults, type LoggedRequest, readCounters, readLog, setClock } from "../stage/store-control.ts";

/** Answers that are not what they seem, and stores that say no. */

const BOTH = ["up", "down"] as const;
const SHARE = 0.1;
const some = (scene: Scene, from: readonly PlannedRequest[]) => scene.random.some(from, SHARE);
const of = (scene: Scene, ...ops: string[]) => scene.control.filter(({ op }) => ops.includes(op));

/** Codes that stores and what stands before them give for trouble that passes. */
const PASSING: readonly Passing[] = [
  { status: 500, code: "InternalError" },
  { status: 503, code: "SlowDown" },
  { status: 503, code: "ServiceUnavailable" },
  { status: 429, code: "TooManyRequests" },
  { status: 408, code: "RequestTimeout" },
  { status: 408, code: "RequestCanceled" },
  { status: 400, code: "RequestTimeout" },
  { status: 400, code: "IncompleteBody" },
  { status: 400, code: "ClientDisconnect" },
  { status: 400, code: "BadDigest" },
  { status: 400, code: "RequestRateLimitExceeded" },
  { status: 410, code: "DisconnectError" },
  { status: 409, code: "OperationAborted" },
  { status: 409, code: "ConditionalRequestConflict" },
  { status: 502, code: "bad gateway", body: "text" },
  { status: 503, code: "unavailable", body: "text" },
  { status: 504, code: "gateway timeout", body: "text" },
  { status: 507, code: "insufficient storage", body: "text" },
  { status: 520, code: "unknown error", body: "text" },
  { status: 522, code: "connection timed out", body: "text" },
  { status: 524, code: "a timeout occurred", body: "text" },
  { status: 500, code: "nothing", body: "empty" },
  { status: 503, code: "nothing", body: "empty" },
  { status: 400, code: "what a proxy says", body: "text" },
  { status: 404, code: "what a proxy says", body: "text" },
  { status: 403, code: "what a proxy says", body: "text" },
];
interface Passing {
  status: number;
  code: string;
  body?: "text" | "empty";
}

const stormMs = ({ scale }: Scene) => (scale === "short" ? 1_500 : 120_000);

const isLater = ({ seed }: Scene) => seed % 2 === 0;

/**
 * So many requests after it show whether more go at a time again. After two minutes of it one goes at a time, and a second one
 * after a second without a refusal, in which there are ten.
 */
const enoughToGrow = ({ scale }: Scene) => (scale === "short" ? 8 : 30);

const startStorm = (scene: Scene) =>
  scene.rule({
    id: "storm",
    action: {
      kind: "error",
      ...scene.random.pick([
        { status: 503, code: "SlowDown", retryAfterSeconds: 1 },
        { status: 429, code: "TooManyRequests" },
      ]),
    },
  });

/**
 * How often the store said "fewer", how often it did what it was asked, and what of the data was first asked for after the storm:
 * what had been refused in it comes again when its own time is over, each by itself.
 */
async function readRefusals(scene: Scene) {
  const log = await readLog(scene.rig.store);
  const isRefused = ({ status }: LoggedRequest) => status === 503 || status === 429;
  const nameOf = ({ operation, key, partNumber }: LoggedRequest) => JSON.stringify([operation, key, partNumber]);
  const refused = log.filter(isRefused);
  const good = log.filter(({ status }) => status === 200 || status === 206);
  const ended = Number(scene.facts["stormEndedMs"] ?? 0);
  const served = Map.groupBy(good, nameOf);
  // Ranges of one object cannot be told apart in the log.
  const before = new Set(refused.map(nameOf).filter((name) => (served.get(name)?.length ?? 0) <= 1));
  const fresh = good.filter((one) => isData(one) && one.atMs - one.durationMs > ended && !before.has(nameOf(one)));
  scene.note({ refused: refused.length, served: good.length, fresh: fresh.length });
  return { refused: refused.length, served: good.length, fresh };
}

export const ANSWER_FAULTS: readonly FaultClass[] = [
  {
    name: "complete-answer-lost",
    says: "The upload is completed, but the answer is lost; or the request is.",
    catalogue: [10],
    bar: [9],
    directions: ["up"],
    arm: (scene) =>
      scene.hit(of(scene, "CompleteMultipartUpload"), () =>
        scene.random.pick([{ kind: "drop-response" }, { kind: "reset", at: "after-request" }]),
      ),
  },
  {
    name: "complete-false-200",
    says: "Complete is answered 200 with an error, a web page or nothing, whether it was done or not.",
    catalogue: [11],
    bar: [9],
    directions: ["up"],
    arm: (scene) =>
      scene.hit(of(scene, "CompleteMultipartUpload"), () => {
        const work = scene.random.pick(["done", "skipped"]);
        return scene.random.pick<Record<string, unknown>>([
          { kind: "error-in-200", ending: "none", work },
          { kind: "error-in-200", ending: "newline", work },
          { kind: "html", work },
          { kind: "empty", work },
        ]);
      }),
  },
  {
    name: "answer-lost",
    says: "A part, an object or an upload is there, but the answer that says so is lost.",
    catalogue: [10, 29],
    bar: [9],
    directions: BOTH,
    arm: (scene) =>
      scene.hit([...some(scene, scene.data), ...some(scene, of(scene, "HeadObject"))], () => ({
        kind: "drop-response",
      })),
  },
  {
    name: "create-answer-lost",
    says: "A multipart upload is begun, but the answer with its id is lost.",
    catalogue: [10],
    bar: [9],
    directions: ["up"],
    arm: (scene) => scene.hit(of(scene, "CreateMultipartUpload"), () => ({ kind: "drop-response" })),
  },
  {
    name: "false-200",
    says: "A part is answered 200 with an error, a web page, nothing, or no ETag, whether it was stored or not.",
    catalogue: [11, 12],
    bar: [9, 10],
    directions: BOTH,
    arm: (scene) =>
      scene.hit(some(scene, scene.data), () => {
        const work = scene.random.pick(["done", "skipped"]);
        return scene.random.pick<Record<string, unknown>>([
          { kind: "error-in-200", ending: scene.random.pick(["none", "newline"]), work },
          { kind: "html", work },
          { kind: "empty", work },
          { kind: "no-etag" },
        ]);
      }),
  },
  {
    name: "portal",
    says: "A login page of the network answers for the store now and then.",
    catalogue: [12],
    bar: [10],
    directions: BOTH,
    arm: (scene) =>
      scene.hit([...scene.control.filter(({ op }) => op !== "HeadObject"), ...some(scene, scene.data)], () => ({
        kind: "html",
      })),
  },
  {
    name: "portal-stays",
    retryForMs: { short: 1_500 },
    says: "A login page of the network answers everything.",
    catalogue: [12],
    bar: [10],
    directions: BOTH,
    mustEnd: ["INTERCEPTED"],
    flags: () => [],
    lastsMs: ({ scale }) => (scale === "short" ? 15_000 : 120_000),
    arm: (scene) => scene.rule({ action: { kind: "html" } }),
  },
  {
    name: "false-listing",
    says: 'A listing is answered 200 with a web page, nothing, or an error: never "there is nothing".',
    catalogue: [12],
    bar: [10],
    directions: ["down"],
    shapes: ["many"],
    arm: (scene) =>
      scene.hit(of(scene, "ListObjectsV2"), () =>
        scene.random.pick<Record<string, unknown>>([
          { kind: "html" },
          { kind: "empty" },
          { kind: "error-in-200", ending: "newline" },
          { kind: "truncate", afterBytes: scene.random.whole(0, 300), framing: "close" },
        ]),
      ),
  },
  {
    name: "odd-codes",
    says: "Stores and gateways answer with every code they have for trouble that passes.",
    catalogue: [13],
    bar: [8],
    directions: BOTH,
    arm: async (scene) => {
      const requests = [...some(scene, scene.data), ...some(scene, scene.control)];
      // Every code has its turn, one after the other over the seeds.
      const turn = scene.seed * 3;
      for (const [index, request] of requests.entries()) {
        const passing = PASSING[(turn + index) % PASSING.length] ?? { status: 500, code: "InternalError" };
        await scene.hit([request], () => ({ kind: "error", ...passing }));
        scene.note({ [`code ${index}`]: `${request.op} ${passing.status} ${passing.code}` });
      }
    },
  },
  {
    name: "refused",
    says: "The store says no: the key lacks a permission, or the bucket is not there.",
    catalogue: [13],
    bar: [8],
    directions: BOTH,
    mustEnd: ["ACCESS_DENIED", "NO_SUCH_BUCKET"],
    arm: async (scene) => {
      const refusal = scene.random.pick([
        { status: 403, code: "AccessDenied" },
        { status: 404, code: "NoSuchBucket" },
      ]);
      // However often: of two tries beside each other the other one would do.
      for (const { op, key, partNumber } of scene.data.slice(0, 3)) {
        const part = partNumber === undefined ? {} : { partNumber };
        await scene.rule({ op, keyPattern: key, ...part, action: { kind: "error", ...refusal } });
      }
    },
  },
  {
    name: "many-failures",
    says: "Every part fails several times before it succeeds: no budget of tries runs out.",
    catalogue: [2],
    bar: [7],
    directions: BOTH,
    lastsMs: () => 15_000,
    arm: async (scene) => {
      const tries = scene.random.whole(4, 6);
      for (const request of scene.data) {
        for (let attempt = 1; attempt <= tries; attempt++) {
          const action = scene.random.pick<Record<string, unknown>>([
            { kind: "error", status: 503, code: "ServiceUnavailable" },
            { kind: "error", status: 500, code: "InternalError" },
            { kind: "reset", at: "start" },
          ]);
          // Reads are counted by key, so the first of each key take the failures of all.
          await scene.hit(
            [{ ...request, attempt: scene.direction === "up" ? attempt : request.attempt + attempt - 1 }],
            () => action,
          );
        }
      }
    },
  },
  {
    name: "throttled",
    says: "The store refuses whatever goes beyond a few requests at a time.",
    catalogue: [14],
    bar: [7],
    directions: BOTH,
    lastsMs: () => 20_000,
    arm: (scene) =>
      scene.rule({
        action: {
          kind: "throttle",
          above: 2,
          status: scene.random.pick([503, 429]),
          code: "SlowDown",
          ...(scene.random.next() < 0.5 ? { retryAfterSeconds: 1 } : {}),
        },
      }),
    check: async (scene) => {
      const { refused, served } = await readRefusals(scene);
      // All that were under way at first are refused; whoever then keeps to what the store takes is refused seldom.
      return refused <= 10 + served ? [] : [`${refused} were refused of ${refused + served}: it never slowed down`];
    },
  },
  {
    name: "slow-down-storm",
    says: "For a while the store refuses everything with SlowDown, 429 or Retry-After, from the start or in the middle.",
    catalogue: [14],
    bar: [7],
    directions: BOTH,
    flags: (scene) => (isLater(scene) ? slowly(scene) : []),
    // It may not give up in the moment when the storm ends.
    retryForMs: { full: 180_000 },
    lastsMs: ({ scale }) => (scale === "short" ? 8_000 : 180_000),
    arm: (scene) => (isLater(scene) ? undefined : startStorm(scene)),
    during: async (scene, copy) => {
      if (isLater(scene)) {
        await whenAnswered(scene, copy, { op: scene.data[0]?.op ?? "GetObject", count: 1 });
        await startStorm(scene);
      }
      await sleep(stormMs(scene));
      await clearFaults(scene.rig.store);
      // Answers that take a moment show how many are under way; small ones would be over before the next is asked for.
      for (const op of DATA_OPERATIONS) await scene.rule({ op, action: { kind: "delay", ms: 100 } });
      scene.note({ stormEndedMs: Date.now() });
      return undefined;
    },
    uncounted: true,
    check: async (scene) => {
      const { refused, fresh } = await readRefusals(scene);
      // Of ten at a time each may ask twice a second, and more often at first.
      const most = 60 + (stormMs(scene) / 1_000) * 20;
      return [
        ...(refused <= most ? [] : [`${refused} requests went to a store that had asked for fewer`]),
        ...(fresh.length < enoughToGrow(scene) || mostAtOnce(fresh) > 1
          ? []
          : ["it never came back to more than one at a time"]),
      ];
    },
  },
  {
    name: "one-part-fails",
    says: "One part fails again and again; the parts beside it are not thrown away.",
    catalogue: [22],
    bar: [1],
    directions: BOTH,
    shapes: ["one"],
    lastsMs: ({ scale }) => (scale === "short" ? 15_000 : 90_000),
    uncounted: true,
    arm: async (scene) => {
      const bad = scene.random.pick([1, 2]);
      await scene.rule({
        id: "bad-part",
        ...(scene.direction === "up" ? { op: "UploadPart", partNumber: bad } : { op: "GetObject", times: 6 }),
        action: { kind: "error", status: 500, code: "InternalError" },
      });
    },
    during: async (scene) => {
      await sleep(scene.scale === "short" ? 2_000 : 60_000);
      await clearFaults(scene.rig.store);
      return undefined;
    },
    check: async (scene) => {
      const { targets } = await readCounters(scene.rig.store, "UploadPart");
      const twice = targets.filter(({ succeeded }) => succeeded > 1);
      return twice.length === 0 ? [] : [`${twice.length} parts beside the bad one were sent again`];
    },
  },
  {
    name: "upload-forgotten",
    says: "The store forgets the multipart upload.",
    catalogue: [21],
    bar: [24],
    directions: ["up"],
    shapes: ["one"],
    // The object starts again from its beginning.
    goesAgain: "twice",
    arm: (scene) =>
      scene.hit([scene.random.pick([...scene.data.slice(1), ...of(scene, "CompleteMultipartUpload")])], () => ({
        kind: "lose-upload",
      })),
  },
  {
    name: "one-skewed-answer",
    says: "One answer says that the clocks differ too much, although they do not.",
    catalogue: [25],
    bar: [22],
    directions: BOTH,
    arm: (scene) =>
      scene.hit(some(scene, scene.data), () => ({ kind: "error", status: 403, code: "RequestTimeTooSkewed" })),
  },
  {
    name: "clock-off",
    says: "The clock of this machine is two hours off.",
    catalogue: [25],
    bar: [22],
    directions: BOTH,
    uncounted: true,
    arm: (scene) => setClock(scene.rig.store, scene.random.pick([2, -2]) * 3_600_000).then(() => undefined),
  },
  {
    name: "clock-off-unsaid",
    says: "The clock of this machine is two hours off, and the store does not tell the time.",
    catalogue: [25],
    bar: [22],
    directions: BOTH,
    mayEnd: ["CLOCK_SKEW"],
    arm: async (scene) => {
      await setClock(scene.rig.store, scene.random.pick([2, -2]) * 3_600_000);
      await scene.rule({ action: { kind: "date", header: "hide" } });
    },
  },
  {
    name: "clock-jumps",
    says: "The store's clock jumps beyond the life of every signature in mid-transfer.",
    catalogue: [25, 26],
    bar: [21, 22],
    directions: BOTH,
    uncounted: true,
    flags: ({ direction, payload }) => [direction === "up" ? "--limit-up" : "--limit-down", String(payload.totalBytes)],
    during: async (scene) => {
      await sleep(scene.random.whole(300, 900));
      await setClock(scene.rig.store, 2 * 3_600_000);
      return undefined;
    },
  },
];
