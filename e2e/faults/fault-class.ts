import type { FaultCode } from "#protocol/faults/fault-table.ts";
import type { Copy, Ending } from "./copy.ts";
import type { Payload } from "./payload.ts";
import type { Random } from "./random.ts";
import type { Rig } from "./rig.ts";
import type { Direction } from "./toxics.ts";

/** A request that a transfer will make, as a rule of the store can name it. */
export interface PlannedRequest {
  readonly op: string;
  readonly key: string;
  readonly partNumber?: number;
  /** The nth of its kind. */
  readonly attempt: number;
  readonly bytes: number;
}

/** Everything a fault class can see and touch in one trial. */
export interface Scene {
  readonly rig: Rig;
  readonly seed: number;
  readonly random: Random;
  readonly direction: Direction;
  readonly payload: Payload;
  /** Where the objects of this trial are: a key, or a prefix without a slash. */
  readonly key: string;
  /** Local file or folder: the source of an upload, the target of a restore. */
  readonly path: string;
  /** Part uploads, puts and gets, in order. */
  readonly data: readonly PlannedRequest[];
  /** Creates, completes, heads and lists. */
  readonly control: readonly PlannedRequest[];
  readonly stallMs: number;
  /** Short waits in the tests, those of the bar in the full counts. */
  readonly scale: "short" | "full";
  /** Arms the store: `action` for each of these requests. */
  hit(requests: readonly PlannedRequest[], action: (request: PlannedRequest) => Record<string, unknown>): Promise<void>;
  /** Arms the store with a rule as it stands, for the keys of this trial only. */
  rule(rule: Record<string, unknown>): Promise<void>;
  /** Starts the same command again, or one with another source or target, or another state folder. */
  start(other?: { path?: string; state?: string }): Copy;
  /** Facts worth keeping with the result. */
  note(facts: Record<string, number | string>): void;
  readonly facts: Readonly<Record<string, number | string>>;
  /** Files in the folder of this trial. */
  readonly folder: string;
}

export interface FaultClass {
  /** Short, in words and dashes: it is what `--class` takes. */
  readonly name: string;
  /** What happens, in one sentence. */
  readonly says: string;
  /** Rows of the catalogue of faults it belongs to. */
  readonly catalogue: readonly number[];
  /** Rows of the reliability bar it is counted in. */
  readonly bar: readonly number[];
  readonly directions: readonly Direction[];
  readonly shapes?: readonly [Payload["shape"], ...Payload["shape"][]];
  /** The store's departures from AWS, and the kind it is called. */
  readonly quirks?: string;
  readonly provider?: string;
  /** Through the link that can fail, or straight to the store (the default). */
  readonly through?: "proxy";
  /** Another place to ask than the store or the link to it. */
  readonly endpoint?: (scene: Scene) => string;
  readonly flags?: (scene: Scene) => string[];
  /** Parts at a time; drawn between 4 and the program's own choice when left out. */
  readonly concurrency?: number;
  /** The watchdog's patience, ms, in the tests. */
  readonly stallMs?: number;
  /** How long it tries when nothing moves, ms, where that is not as long as in the other classes. */
  readonly retryForMs?: { readonly [scale in Scene["scale"]]?: number };
  /** Something else to move than the usual files. `folder` is empty. */
  readonly payload?: (about: { folder: string; random: Random; rig: Rig }) => Payload;
  /** The trial changes the source or the object, so it gets one of its own. */
  readonly source?: "own";
  readonly env?: (scene: Scene) => Record<string, string>;
  readonly nodeFlags?: readonly string[];
  /** Before the program starts. */
  readonly arm?: (scene: Scene) => Promise<void> | void;
  /** While it runs; a copy that it returns takes the place of the first. */
  readonly during?: (scene: Scene, copy: Copy) => Promise<Copy | undefined>;
  /** How it may end besides well. Empty or left out: it must succeed. */
  readonly mayEnd?: readonly FaultCode[];
  /** It must end with one of these. */
  readonly mustEnd?: readonly FaultCode[];
  /** Exit codes of a stop that was asked for. */
  readonly stopped?: readonly number[];
  /** Takes the cause away after a failure, so that the same command can finish; null: nothing can. */
  readonly mend?: ((scene: Scene) => Promise<void>) | null;
  /** How long the fault itself lasts at most, ms, beyond stalls. */
  readonly lastsMs?: (scene: Scene) => number;
  /** Parts that may travel twice for each fault that happened; default 1. 0: only what was in flight. */
  readonly partsPerFault?: number;
  /** Besides those of faults: parts under way when the program is stopped go again, or all of it goes twice. */
  readonly goesAgain?: "when stopped" | "twice";
  /** The fault cannot be counted (it is in the environment). */
  readonly uncounted?: true;
  /** The transfer replaces or changes its content, so bytes are judged by `check` alone. */
  readonly content?: "own";
  /** What must hold besides what always must; each text is a failure. */
  readonly check?: (scene: Scene, ending: Ending) => Promise<string[]> | string[];
}
