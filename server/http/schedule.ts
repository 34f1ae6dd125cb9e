import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Fault, toFault } from "#protocol/faults/fault.ts";
import { emit, recordEvent } from "../core/events/record-event.ts";
import type { Hub } from "../core/api/hub.ts";
import { keepMarks } from "../core/profiles/keep-marks.ts";
import { assignCopies } from "../features/replicas/assign-copies.ts";
import { payAllWords } from "../core/retention/write-retention-records.ts";
import { applyPolicies } from "../features/retention/apply-policy.ts";
import { emptyDue } from "../features/retention/empty-trash.ts";
import { keepFindings } from "../features/verification/keep-findings.ts";
import { scheduledMode } from "../features/maintenance/janitor.ts";
import { settleHistory } from "../core/record/settle-history.ts";
import { lookOnce } from "../features/maintenance/start-janitor.ts";
import { nextBackupAt } from "../features/maintenance/status.ts";

/**
 * Runs the hub's maintenance by the clock: reads its buckets after a restore, takes backups, looks for leftovers, applies
 * retention policies, empties the trash, assigns copies, marks prefixes, and writes retention records and findings to buckets. These jobs run
 * beside the tick of the fleet, because each may take minutes. A separate process makes the backup: copying the database would
 * block this one.
 */

const LONGEST_BEAT_MS = 60_000;
const AFTER_FAILURE_MS = 600_000;
const READ_AGAIN_MS = 15_000;
const HOMES_AGAIN_MS = 30_000;
const MARKS_AGAIN_MS = 600_000;
const MAIN = join(import.meta.dirname, "../features/maintenance/command-line/main.ts");
/** A stopping hub waits at most this long for maintenance. */
const LAST_CALL_MS = 1_500;

/** Variables that the driver of PostgreSQL reads by itself, and the home with its files. */
const OF_DRIVER = /^(PG[A-Z]+|HOME|NODE_EXTRA_CA_CERTS)$/;

/** Takes a backup in a process of its own. It gets the address of the database over a pipe: others can read its environment. */
async function backUpBeside(hub: Hub): Promise<void> {
  const { upkeep, dataFolder, postgres } = hub.settings;
  const args = [MAIN, "backup", "--to", upkeep.backupFolder, "--keep", String(upkeep.backupKeep), "--gzip"];
  const ofDriver = Object.entries(process.env).filter(([name]) => postgres !== null && OF_DRIVER.test(name));
  const child = spawn(process.execPath, args, {
    env: {
      ...Object.fromEntries(ofDriver),
      PATH: process.env["PATH"] ?? "",
      NODE_ENV: "production" as const,
      TIDEMARK_DATA: dataFolder,
    },
    signal: hub.closing,
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  const secrets =
    postgres === null ? {} : { TIDEMARK_DATABASE_URL: postgres.url, TIDEMARK_DATABASE_DIRECT_URL: postgres.directUrl };
  // A child that ended at once is told by its exit.
  child.send({ secrets }, () => undefined);
  let said = "";
  child.stderr?.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  if (code === 0) return;
  throw new Fault("WRITE_FAILED", { op: "backup", subject: upkeep.backupFolder, detail: said.trim().slice(0, 1024) });
}

async function failedBackup(hub: Hub, error: unknown, startedAt: number): Promise<void> {
  hub.log.error({ error }, "the backup failed");
  const fault = toFault(error).toData();
  const now = hub.now();
  const event = await hub.db.$transaction(async (tx) => {
    await tx.upkeepRun.create({
      data: {
        kind: "backup",
        startedAt: new Date(startedAt),
        endedAt: new Date(now),
        fault: JSON.stringify(fault),
        result: null,
      },
    });
    return recordEvent(tx, { at: now, kind: "upkeep", work: "risk", text: "The backup of the hub failed", fault });
  });
  emit(hub, event);
}

/** Starts the schedule. `stop` waits briefly for running jobs. */
export function startUpkeep(hub: Hub): { stop: () => Promise<void> } {
  const { upkeep } = hub.settings;
  let stopped = false;
  const notBefore = { backup: 0, janitor: 0, history: 0, keeping: 0, findings: 0, homes: 0 };
  const tasks: { name: keyof typeof notBefore; run: () => Promise<void> }[] = [
    {
      name: "history",
      run: async () => {
        notBefore.history = hub.now() + READ_AGAIN_MS;
        const found = await settleHistory(hub, { isStopped: () => stopped });
        if (found !== null)
          hub.log.info({ found: { ...found, refusedKeys: found.refusedKeys.length } }, "buckets read");
      },
    },
    {
      name: "backup",
      run: async () => {
        const dueAt = await nextBackupAt(hub);
        const now = hub.now();
        if (dueAt === null || now < dueAt) return;
        try {
          await backUpBeside(hub);
        } catch (error) {
          if (stopped) return;
          notBefore.backup = now + AFTER_FAILURE_MS;
          await failedBackup(hub, error, now);
        }
      },
    },
    {
      name: "janitor",
      run: async () => {
        if (upkeep.janitor === "off" || hub.upkeep.isJanitorRunning) return;
        const last = await hub.db.upkeepRun.findFirst({ where: { kind: "janitor" }, orderBy: { id: "desc" } });
        const now = hub.now();
        const dueAt = (last?.startedAt.getTime() ?? hub.startedAt) + upkeep.janitorEveryMs;
        if (now < dueAt) return;
        notBefore.janitor = now + Math.min(AFTER_FAILURE_MS, upkeep.janitorEveryMs);
        await lookOnce(hub, { mode: await scheduledMode(hub, upkeep.janitor), by: "hub" });
      },
    },
    { name: "findings", run: () => keepFindings(hub) },
    {
      name: "homes",
      run: async () => {
        notBefore.homes = hub.now() + HOMES_AGAIN_MS;
        await payAllWords(hub, () => stopped);
        await assignCopies(hub, () => stopped);
      },
    },
    {
      name: "keeping",
      run: async () => {
        notBefore.keeping = hub.now() + upkeep.keepingEveryMs;
        await applyPolicies(hub, () => stopped);
        await emptyDue(hub, () => stopped);
      },
    },
  ];
  const shortest = Math.min(
    upkeep.backupEveryMs ?? Infinity,
    upkeep.janitorEveryMs,
    upkeep.keepingEveryMs,
    LONGEST_BEAT_MS * 2,
  );
  const running = new Map<string, Promise<void>>();
  const tick = () => {
    for (const { name, run: work } of tasks) {
      if (stopped || running.has(name) || hub.now() < notBefore[name]) continue;
      const done = work()
        .catch((error: unknown) => hub.log.error({ error }, `the upkeep failed: ${name}`))
        .finally(() => running.delete(name));
      running.set(name, done);
    }
  };
  const timer = setInterval(tick, Math.min(READ_AGAIN_MS, Math.max(500, shortest / 2)));
  tick();
  const ending = new AbortController();
  const marking = markPlaces(hub, AbortSignal.any([hub.closing, ending.signal]));
  return {
    stop: async () => {
      stopped = true;
      ending.abort();
      clearInterval(timer);
      // The next hub continues interrupted jobs.
      const ended = Promise.all([...running.values(), marking]);
      await Promise.race([ended, sleep(LAST_CALL_MS, null, { ref: false })]);
    },
  };
}

/** Marks the places of all profiles: at the start, after each saved profile, and from time to time. No faults. */
async function markPlaces(hub: Hub, until: AbortSignal): Promise<void> {
  const { live } = hub;
  const refused = new Set<string>();
  while (!until.aborted) {
    const saves = live.profileSaves;
    await keepMarks(hub, refused).catch((error: unknown) => hub.log.error({ error }, "the upkeep failed: marks"));
    if (live.profileSaves === saves) await live.profilesSaved.wait({ timeoutMs: MARKS_AGAIN_MS, abort: until });
  }
}
