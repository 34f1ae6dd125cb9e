import { join, relative } from "node:path";
import { sentenceOf } from "#protocol/faults/fault.ts";
import { linesOf } from "#protocol/checkpoint/folder-lines.ts";
import type { LocalRun, LocalState, LocalStatus, Sustain } from "#protocol/local-api/local.ts";
import type { RunBacklog } from "#protocol/wire/reports.ts";
import { riskOf } from "#protocol/wire/risk.ts";
import { PRODUCT_VERSION } from "#protocol/base/version.ts";
import type { Agent } from "../agent-assemble.ts";
import { judgeStateDisk } from "#worker/host/judge-state-disk.ts";
import { listAllAside } from "#worker/restore/placement/set-aside.ts";
import { readLocalCheckpoints } from "../local-checkpoints.ts";
import { isUnsafe, readBacklog, uploadProgress } from "#worker/upload/backlog.ts";
import { bytesAhead } from "#worker/upload/bytes-ahead.ts";

const MOST_TRANSFERS = 64;

/** Returns how many checkpoints are not safe, and the reason: a failed upload, or what the uploader waits for. */
export function readState({ ledger, uploader }: Pick<Agent, "ledger" | "uploader">): LocalState {
  const unsafe = ledger.all().filter(isUnsafe);
  const failed = unsafe.findLast(({ state }) => state === "failed")?.fault ?? null;
  const fault = failed ?? (unsafe.length === 0 ? null : (uploader.waitingFor?.toData() ?? null));
  return { pending: unsafe.length, error: fault === null ? null : sentenceOf(fault) };
}

/** Returns the present status of this worker. */
export async function readStatus(agent: Agent): Promise<LocalStatus> {
  const { storeSessions, hub, options, restorer, session } = agent;
  const up = storeSessions.up();
  const down = storeSessions.down();
  const { store } = session;
  const rttMs = storeSessions.rttMs();
  const at = Date.now();
  const { active, uncommitted } = agent.uploader;
  const ahead = bytesAhead(agent.ledger.all(), ({ id, sizeBytes }) => {
    if (uncommitted.has(id)) return sizeBytes;
    return active?.capture.id === id ? (active.counters?.bytesSure ?? 0) : 0;
  });
  const rate = up?.engine.meter.bytesPerSecond() ?? 0;
  return {
    ...readState(agent),
    node: session.name,
    version: PRODUCT_VERSION,
    hub: { url: options.hub, isUp: hub.isUp, says: hub.describe() },
    otherWriters: [...hub.otherWriters()],
    at,
    store: store === null ? null : { profile: store.profileName, bucket: store.bucket, endpoint: store.endpoint },
    upBytesPerSecond: rate,
    downBytesPerSecond: down?.engine.meter.bytesPerSecond() ?? 0,
    rttMs: rttMs === null ? null : Math.round(rttMs * 10) / 10,
    runs: (await readBacklog(agent)).map((run) =>
      describe(agent, run, { at, rate, leftBytes: ahead.get(run.run) ?? 0 }),
    ),
    transfers: [
      ...restorer.progress(),
      ...uploadProgress(agent, up?.engine ?? null),
      ...agent.checker.progress(),
    ].slice(0, MOST_TRANSFERS),
    lines: await findLines(agent),
    doubtful: doubtfulOf(agent).slice(-MOST_TRANSFERS),
    ...(await findOpenPieces(agent)),
    smallDisks: await findSmallDisks(agent),
    aside: await listAllAside(options.watches.map(({ folder }) => folder)),
  };
}

/** Returns the doubtful captures since this start, and doubtful ones of the hub that are later than where the run continues. */
function doubtfulOf({ doubtful, options, runs }: Agent): NonNullable<LocalStatus["doubtful"]> {
  const own = doubtful.all();
  const before = options.watches.flatMap(({ run }) => {
    const found = runs.get(run)?.claim?.doubtful;
    const isKnown = own.some((one) => one.run === run && one.step === found?.step && one.role === undefined);
    return found === undefined || isKnown ? [] : [{ run, ...found }];
  });
  return [
    ...before,
    ...own.map(({ run, step, why, role }) => ({ run, step, why, ...(role !== undefined && { role }) })),
  ];
}

/** Returns which pieces of steps that several nodes write together are missing, as the hub knows it. */
async function findOpenPieces({ hub, options }: Agent): Promise<Pick<LocalStatus, "openPieces">> {
  if (options.group === null || !hub.isUp) return {};
  const found: NonNullable<LocalStatus["openPieces"]> = [];
  for (const { run } of options.watches) {
    const steps = await hub
      .ask("openPieces", (client, signal) => client.node.openPieces.query({ run }, { signal }))
      .catch(() => []);
    found.push(...steps.map((one) => ({ run, ...one })));
  }
  return found.length === 0 ? {} : { openPieces: found };
}

/** Returns the lines of each run (its checkpoints by folder) on the disk now. An unreadable folder counts as empty. */
async function findLines({ options, ledger, watchedSince }: Agent): Promise<NonNullable<LocalStatus["lines"]>> {
  const { knows, isRestored, isUnfinished } = ledger;
  const lines: NonNullable<LocalStatus["lines"]> = [];
  for (const watch of options.watches) {
    const { run, folder } = watch;
    const evidence = { knows, isRestored, isUnfinished, watchedSince: watchedSince.get(run) ?? 0 };
    const found = await readLocalCheckpoints(watch, evidence).catch(() => []);
    const placed = found
      .filter(({ state }) => state !== "torn")
      .map(({ path, step, stepSource: stepFrom, writtenAt }) => ({
        path: watch.root === undefined ? relative(folder, path) : join(watch.root.name, relative(folder, path)),
        step,
        ...(stepFrom !== "name" && { stepFrom }),
        at: Math.round(writtenAt),
      }));
    lines.push(...linesOf(placed).map((line) => ({ run, ...line })));
  }
  return lines.slice(0, MOST_TRANSFERS);
}

async function findSmallDisks({ state, options }: Agent): Promise<NonNullable<LocalStatus["smallDisks"]>> {
  const found = options.watches.map(async ({ folder }) => {
    const disk = await judgeStateDisk(state, folder);
    return disk === null ? [] : [{ folder, ...disk }];
  });
  return (await Promise.all(found)).flat();
}

function describe(agent: Agent, run: RunBacklog, now: { at: number; rate: number; leftBytes: number }): LocalRun {
  const uplink = agent.uplink.bytesPerSecond();
  const rate = now.rate > 0 ? now.rate : uplink;
  const { leftBytes } = now;
  // Nobody knows when other nodes send their pieces.
  const isSent = leftBytes === 0 && agent.ledger.piece(run.run) !== null;
  const etaMs = isSent ? null : leftBytes === 0 ? 0 : rate > 0 ? Math.ceil((leftBytes / rate) * 1000) : null;
  const isHeld = agent.ledger.isHeld(run.run);
  return {
    ...run,
    risk: riskOf(run, now.at),
    etaMs,
    sustain: sustainOf(run, uplink),
    isHeld,
    folders: agent.options.watches.filter((watch) => watch.run === run.run).map(({ folder }) => folder),
    safePlace: agent.ledger.safe(run.run)?.place ?? null,
    branch: agent.runs.get(run.run)?.claim?.branch ?? null,
  };
}

/** Returns the drain forecast of one run; null while the uplink's rate or the checkpoint size is unknown. */
function sustainOf({ intervalMs, leastIntervalMs }: RunBacklog, bytesPerSecond: number): Sustain | null {
  if (leastIntervalMs === null) return null;
  return { leastIntervalMs, bytesPerSecond, canSustain: intervalMs === null || intervalMs >= leastIntervalMs };
}
