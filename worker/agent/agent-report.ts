import { join } from "node:path";
import type { ProgressReport } from "#protocol/wire/reports.ts";
import type { StoreSession, StoreSessions } from "./agent-store-sessions.ts";
import type { Agent } from "./agent-assemble.ts";
import type { AgentOptions } from "./agent-options.ts";
import type { Copier } from "../replicas/copier-parts.ts";
import type { Homes } from "../upload/homes.ts";
import type { Places } from "../restore/placement/assert-place.ts";
import { folderApart, mayPlace } from "../restore/folder-apart.ts";
import { readRoom } from "../base/room.ts";
import type { Restorer } from "../restore/restorer.ts";
import type { Checker } from "../verification/checker.ts";
import type { Session } from "../hub-link/session.ts";
import type { Capture } from "../capture/capture.ts";
import { readBacklog, uploadProgress, type BacklogParts } from "../upload/backlog.ts";

export interface ReportParts extends BacklogParts {
  options: AgentOptions;
  storeSessions: StoreSessions;
  restorer: Restorer;
  checker: Checker;
  session: Session;
  homes: Homes;
  copier: Copier;
  /** Returns the engine and bucket that a capture is sent with; null until the hub has named a bucket. */
  storeSessionOf(item: Capture): StoreSession | null;
  bootId: string;
  state: string;
  places: Places;
  logTail: (() => string) | null;
  jobLog: Agent["jobLog"];
}

const MOST = 64;
const LIVELY_MS = 2_000;
let reports = 0;
let cpu = { at: performance.now(), usage: process.cpuUsage() };

/** Returns the progress report of this node for its hub. */
export async function composeReport(parts: ReportParts): Promise<ProgressReport> {
  const { active } = parts.uploader;
  const up = (active === null ? parts.storeSessions.up() : parts.storeSessionOf(active.capture))?.engine ?? null;
  const rates = parts.storeSessions.rates();
  const away = parts.homes.away();
  const path = parts.options.watches[0]?.folder ?? parts.state;
  const disk = await readRoom(path).then(
    (room) => ({ ...room, path }),
    () => null,
  );
  const rttMs = parts.storeSessions.rttMs();
  return {
    bootId: parts.bootId,
    seq: (reports += 1),
    at: Date.now(),
    upBytesPerSecond: rates.up,
    downBytesPerSecond: rates.down,
    rttMs: rttMs === null ? null : Math.round(rttMs * 10) / 10,
    disk,
    cpuPercent: readCpuPercent(),
    logTail: isWatched(parts) ? (parts.logTail?.() ?? null) : null,
    ...jobLogOf(parts),
    runs: (await readBacklog(parts)).slice(0, MOST),
    transfers: [
      ...parts.restorer.progress(),
      ...uploadProgress(parts, up),
      ...parts.checker.progress(),
      ...parts.copier.progress(),
    ].slice(0, MOST),
    ...(away.length === 0 ? {} : { homesAway: away }),
    ...(await placesOf(parts)),
  };
}

/** Returns new output of the running job, when the hub has said that a person reads it. */
function jobLogOf({ jobLog }: ReportParts): Pick<ProgressReport, "jobLog"> {
  if (jobLog?.wanted === undefined) return {};
  const said = jobLog.text(jobLog.wanted.fromByte);
  const isMeant = said?.jobId === jobLog.wanted.jobId && said.attempt === jobLog.wanted.attempt;
  return isMeant ? { jobLog: said } : {};
}

/** Returns where restores may go: a folder outside of the watched ones, and which watched folders accept restores. */
async function placesOf({ options, places }: ReportParts): Promise<Pick<ProgressReport, "restoreFolder" | "watched">> {
  const restoreFolder = await folderApart(places);
  const watched = await Promise.all(
    options.watches.slice(0, MOST).map(async ({ run, folder }) => ({
      run,
      folder: folder.slice(0, 1024),
      mayRestore: await mayPlace(join(folder, "checkpoint"), places),
    })),
  );
  return { watched, ...(restoreFolder === null ? {} : { restoreFolder: restoreFolder.slice(0, 1024) }) };
}

/**
 * Returns whether a person looks at this node: the hub then asks for frequent reports. At other times the log tail is not sent,
 * to save its bytes.
 */
const isWatched = ({ session }: ReportParts): boolean => session.settings.reportEveryMs <= LIVELY_MS;

/** Returns the CPU use since the last report, in percent of one core. */
function readCpuPercent(): number {
  const now = performance.now();
  const used = process.cpuUsage(cpu.usage);
  const percent = (used.user + used.system) / 10 / Math.max(1, now - cpu.at);
  cpu = { at: now, usage: process.cpuUsage() };
  return Math.round(percent * 10) / 10;
}
