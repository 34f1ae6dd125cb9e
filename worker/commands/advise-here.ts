import {
  adviceOf,
  continueFrom,
  doubtfulWords,
  inNamingOrder,
  MOST_NAMED,
  openPiecesWords,
  type ContinueFrom,
  type DiskPoint,
  type RestorePoint,
} from "#protocol/checkpoint/continue-words.ts";
import { isFault } from "#protocol/faults/fault.ts";
import { runName, type RunName } from "#protocol/base/names.ts";
import { MOST_POINTS } from "#protocol/wire/hello.ts";
import type { Capture } from "../capture/capture.ts";
import type { SafePoint } from "../capture/safe-points.ts";
import { shownName, type CommandContext } from "../command-line/command-context.ts";
import type { Config } from "../command-line/config.ts";
import { joinHub } from "../hub-link/joined-hub.ts";
import { openBucket, readTo } from "../standalone/open-standalone.ts";
import { readPoints } from "../standalone/reading-calls.ts";
import { isUnsafe } from "../upload/backlog.ts";

/** `tidemark status` without a worker must not wait for a hub that hangs. */
const HUB_MS = 3_000;

type Waiting = Pick<Capture, "run" | "step" | "state" | "sizeBytes" | "capturedAt" | "role">;

/** Content of this node's ledger. */
interface Books {
  captures: readonly Waiting[];
  safe: ReadonlyMap<string, SafePoint>;
  /** All runs that the node has seen. */
  runs?: ReadonlySet<string>;
}

/** Checkpoints from which the runs of this node can be continued, and where that answer comes from. */
export interface AdviceHere {
  runs: ContinueFrom[];
  /**
   * `node`: neither hub nor bucket answered or was named, so the node does not know whether its checkpoints are safe.
   */
  by: "hub" | "bucket" | "node";
  sentences: string[];
}

/** Returns what the ledger knows of each run, in naming order. */
function diskPointsOf({ captures, safe, runs = new Set() }: Books): DiskPoint[] {
  // No program continues from a final model.
  const waiting = Map.groupBy(
    captures.filter((one) => isUnsafe(one) && one.role === undefined),
    ({ run }): string => run,
  );
  const names = new Set<string>([...waiting.keys(), ...safe.keys(), ...runs]);
  return inNamingOrder(
    [...names].map((run) => {
      const mine = waiting.get(run) ?? [];
      const known = safe.get(run);
      const last = mine.reduce<Waiting | null>(
        (newest, one) => (newest === null || one.capturedAt > newest.capturedAt ? one : newest),
        null,
      );
      return {
        run,
        safeStep: known?.step ?? null,
        localStep: last?.step ?? known?.step ?? null,
        localAt: last?.capturedAt ?? known?.at ?? null,
        unsafe: { checkpoints: mine.length, bytes: mine.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) },
      };
    }),
  );
}

/** Prints which checkpoints of a run may be incomplete, and which lack the piece of another node. */
const incompleteWords = ({ run, doubtful = [], openPieces = [] }: ContinueFrom): string[] => [
  ...doubtful.map((one) => doubtfulWords(run, one)),
  ...openPieces.map((one) => openPiecesWords(run, one)),
];

/** Where the answer comes from; `nobody`: this machine has joined no hub, and no bucket was named. */
type Asked = "hub" | "bucket" | "nobody";

const LEADS: Readonly<Record<Asked, string>> = {
  hub: "The hub did not answer; by the record of this node: ",
  bucket: "The bucket did not answer; by the record of this node: ",
  nobody: "By the record of this node (--to s3://bucket/prefix asks the bucket): ",
};

/**
 * Prints the checkpoints from which the runs of this node can be continued. `points`: answer of the hub or of the
 * bucket; null: no answer came.
 */
export function adviceHere(books: Books, points: readonly RestorePoint[] | null, asked: Asked = "hub"): AdviceHere {
  const disks = diskPointsOf(books);
  const own = ({ run, safeStep }: DiskPoint): RestorePoint => ({
    run,
    newest: safeStep === null ? null : { step: safeStep, isDamaged: false },
    trashedStep: null,
  });
  const known = disks.flatMap((disk) => {
    const point = points === null ? own(disk) : points.find(({ run }) => run === disk.run);
    if (point === undefined) return [];
    // There is nothing to tell about a run that this node never wrote.
    const isWritten = disk.localStep !== null || point.doubtful !== undefined || point.openPieces !== undefined;
    return isWritten ? [continueFrom(disk, point)] : [];
  });
  const shown = known.slice(0, MOST_POINTS).map((one) => ({ ...one, run: shownName(one.run) }));
  const { text } = adviceOf(shown, { node: "this node", total: known.length });
  const lead = points === null && known.length > 0 ? LEADS[asked] : "";
  return {
    runs: known.slice(0, MOST_NAMED),
    by: points === null || asked === "nobody" ? "node" : asked,
    sentences: text === "" ? [] : [`${lead}${text}`, ...known.slice(0, MOST_NAMED).flatMap(incompleteWords)],
  };
}

/** Source of the complete checkpoints that a command asks about: a hub or a bucket. */
interface AskedRecord {
  by: "hub" | "bucket";
  /** Returns the answer. @throws Fault BAD_INPUT on a machine that has joined no hub, those of the hub or the store */
  pointsOf(runs: readonly RunName[]): Promise<RestorePoint[]>;
}

/** Chooses the source: the bucket of `--to`, else the hub that this machine has joined. */
function recordOf(context: Pick<CommandContext, "config" | "home">, signal: AbortSignal): AskedRecord {
  const to = context.config.text("to");
  return to === null ? hubRecord(context, signal) : bucketRecord(context.config, { to, signal });
}

const hubRecord = (context: Pick<CommandContext, "config" | "home">, signal: AbortSignal): AskedRecord => ({
  by: "hub",
  pointsOf: async (runs) => {
    const { hub } = await joinHub(context, { command: "status", otherwise: "join one first", signal });
    return hub.ask("restorePoints", (client, limit) =>
      client.node.restorePoints.query({ runs: [...runs] }, { signal: limit }),
    );
  },
});

const bucketRecord = (config: Config, { to, signal }: { to: string; signal: AbortSignal }): AskedRecord => ({
  by: "bucket",
  pointsOf: async (runs) => {
    const opened = await openBucket(config, { ...readTo(to), signal });
    try {
      return await readPoints(opened, runs);
    } finally {
      await opened.close();
    }
  },
});

/** Asks the hub, or the bucket of `--to`; uses the node's ledger when no answer comes within three seconds. */
export async function adviseHere(
  context: Pick<CommandContext, "config" | "home" | "signal">,
  books: Books,
): Promise<AdviceHere> {
  const runs = diskPointsOf(books)
    .slice(0, MOST_POINTS)
    .flatMap(({ run }) => runName.safeParse(run).data ?? []);
  if (runs.length === 0) return adviceHere(books, []);
  const record = recordOf(context, AbortSignal.any([context.signal, AbortSignal.timeout(HUB_MS)]));
  try {
    return adviceHere(books, await record.pointsOf(runs), record.by);
  } catch (error) {
    const hasNone = record.by === "hub" && isFault(error) && error.code === "BAD_INPUT";
    return adviceHere(books, null, hasNone ? "nobody" : record.by);
  }
}
