import { putObject } from "./ask-store.ts";
import type { FaultClass, PlannedRequest, Scene } from "./fault-class.ts";
import { slowly, whenAnswered } from "./pace.ts";
import { sumsUnder } from "./final-names.ts";
import { createHash } from "node:crypto";
import { dirname } from "node:path";

/** What can go wrong with the bytes of a part on their way, scripted in the store. */

const BOTH = ["up", "down"] as const;
/** Share of the data requests that are hit. */
const SHARE = 0.1;

const chosen = (scene: Scene, least = 1): PlannedRequest[] =>
  scene.random.some(
    scene.data.filter(({ bytes }) => bytes >= least),
    SHARE,
  );
const within = (scene: Scene, { bytes }: PlannedRequest) => scene.random.whole(0, Math.max(0, bytes - 1));

export const BODY_FAULTS: readonly FaultClass[] = [
  {
    name: "body-stalls",
    says: "The body of an answer stops in the middle and never goes on.",
    catalogue: [3],
    bar: [4],
    directions: ["down"],
    partsPerFault: 0,
    arm: (scene) =>
      scene.hit(chosen(scene), (request) => ({ kind: "stall", side: "response", afterBytes: within(scene, request) })),
  },
  {
    name: "upload-not-read",
    says: "The store stops reading in the middle of a part.",
    catalogue: [4],
    bar: [2],
    directions: ["up"],
    arm: (scene) =>
      scene.hit(chosen(scene), (request) => ({ kind: "stall", side: "request", afterBytes: within(scene, request) })),
  },
  {
    name: "answer-never-comes",
    says: "The store takes a request and does not answer.",
    catalogue: [3, 4],
    bar: [2],
    directions: BOTH,
    arm: (scene) => scene.hit(chosen(scene), () => ({ kind: "delay", ms: 600_000 })),
  },
  {
    name: "reset-in-body",
    says: "The store resets the connection in the middle of a body.",
    catalogue: [5],
    bar: [3],
    directions: BOTH,
    partsPerFault: 1,
    arm: (scene) =>
      scene.hit(chosen(scene), (request) => ({
        kind: "reset",
        at: scene.direction === "up" ? scene.random.pick(["start", "request", "after-request"]) : "response",
        afterBytes: within(scene, request),
      })),
  },
  {
    name: "cut-short",
    says: "An answer ends before the length it announced.",
    catalogue: [6],
    bar: [5],
    directions: ["down"],
    partsPerFault: 0,
    arm: (scene) =>
      scene.hit(chosen(scene), (request) => ({
        kind: "truncate",
        afterBytes: within(scene, request),
        framing: "length",
      })),
  },
  {
    name: "ends-early",
    says: "An answer without a length ends early and looks whole.",
    catalogue: [7],
    bar: [5],
    directions: ["down"],
    partsPerFault: 0,
    arm: (scene) =>
      scene.hit(chosen(scene), (request) => ({
        kind: "truncate",
        afterBytes: within(scene, request),
        framing: "close",
      })),
  },
  {
    name: "range-ignored",
    says: "A ranged read is answered with the whole object.",
    catalogue: [8],
    bar: [11],
    directions: ["down"],
    shapes: ["one"],
    mayEnd: ["RANGE_IGNORED"],
    partsPerFault: 3,
    arm: (scene) => scene.hit(chosen(scene), () => ({ kind: "ignore-range" })),
  },
  {
    name: "range-always-ignored",
    says: "The store cannot read ranges at all.",
    catalogue: [8],
    bar: [11],
    directions: ["down"],
    shapes: ["one"],
    mayEnd: ["RANGE_IGNORED"],
    partsPerFault: 3,
    arm: (scene) => scene.rule({ op: "GetObject", action: { kind: "ignore-range" } }),
  },
  {
    name: "wrong-content-range",
    says: "An answer says that it is another range than the one asked for.",
    catalogue: [8],
    bar: [11],
    directions: ["down"],
    arm: (scene) =>
      scene.hit(chosen(scene), () => ({
        kind: "wrong-content-range",
        shiftBytes: scene.random.pick([1, -1, 5_242_880]),
      })),
  },
  {
    name: "flip-down",
    says: "One byte of a restore arrives inverted.",
    catalogue: [18],
    bar: [6],
    directions: ["down"],
    arm: (scene) =>
      scene.hit(chosen(scene, 2), (request) => ({ kind: "flip", side: "response", offset: within(scene, request) })),
  },
  {
    name: "flip-up",
    says: "One byte of an upload arrives inverted at the store.",
    catalogue: [18],
    bar: [6],
    directions: ["up"],
    arm: (scene) =>
      scene.hit(chosen(scene, 2), (request) => ({ kind: "flip", side: "request", offset: within(scene, request) })),
  },
  {
    name: "object-replaced",
    says: "The object is replaced while it is being restored.",
    catalogue: [9],
    bar: [11],
    directions: ["down"],
    shapes: ["one"],
    content: "own",
    source: "own",
    uncounted: true,
    mayEnd: ["OBJECT_CHANGED"],
    mend: null,
    flags: slowly,
    during: async (scene, copy) => {
      await whenAnswered(scene, copy, { op: "GetObject", count: 1 });
      const other = Buffer.alloc(scene.payload.totalBytes, scene.seed % 251);
      await putObject(scene.rig.store, scene.key, other);
      return undefined;
    },
    check: (scene, ending) => {
      const other = createHash("sha256")
        .update(Buffer.alloc(scene.payload.totalBytes, scene.seed % 251))
        .digest("hex");
      const found = sumsUnder(dirname(scene.path));
      const name = scene.path.slice(scene.path.lastIndexOf("/") + 1);
      const whole = [other, ...Object.values(scene.payload.sums)];
      if (ending.code === 0 && !whole.includes(found[name] ?? "")) return ["two versions of the object were mixed"];
      return [];
    },
  },
];
