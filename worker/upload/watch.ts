import { watch as watchFolder, type FSWatcher } from "node:fs";
import { basename, resolve } from "node:path";
import { Fault, isFault, toFault } from "#protocol/fault.ts";
import { runName, type RunName } from "#protocol/names.ts";
import type { Clock } from "../engine/clock.ts";
import { findCandidates, type Candidate } from "./find.ts";
import { lookAt, type Look } from "./look.ts";
import type { Settler } from "./settle.ts";

/**
 * One watched folder. Notifications of the file system only make it look sooner: they get lost, so it looks every two
 * seconds anyway. Of several checkpoints that are finished at the same look only the newest is taken, because latest wins.
 */
export interface Watch {
  folder: string;
  run: RunName;
}

export interface Watching {
  watch: Watch;
  settler: Settler;
  clock: Clock;
  signal: AbortSignal;
  knows(path: string, fingerprint: string): boolean;
  /** Secures a finished checkpoint. A fault SOURCE_CHANGED means: look again later. */
  onFinished(candidate: Candidate, look: Look): Promise<void>;
  /** Older ones that were finished together with a newer one. */
  onPassedOver(candidate: Candidate, look: Look): Promise<void>;
  onRefused(candidate: Candidate, about: { look: Look | null; fault: Fault }): Promise<void>;
  onSeen(newest: Candidate, look: Look): void;
  onFault(fault: Fault): void;
}

const RESCAN_MS = 2_000;
const AFTER_NOTICE_MS = 250;

/** Which folder belongs to which run. @throws Fault BAD_INPUT */
export function readWatches(folders: readonly string[], run: string | null): Watch[] {
  if (run !== null && folders.length > 1) {
    throw new Fault("BAD_INPUT", {
      op: "usage",
      subject: `--run ${run}`,
      detail: "it names the run of one watched folder, and several were given",
    });
  }
  const watches = folders.map((folder) => {
    const wished = run ?? basename(resolve(folder)).replaceAll(/[^A-Za-z0-9._-]/g, "-");
    const parsed = runName.safeParse(wished);
    if (!parsed.success) {
      const subject = run === null ? `--watch ${folder}` : `--run ${run}`;
      throw new Fault("BAD_INPUT", {
        op: "usage",
        subject,
        detail: parsed.error.issues[0]?.message ?? "not a run name",
      });
    }
    return { folder: resolve(folder), run: parsed.data };
  });
  const twice = watches.find(({ run: name }, index) => watches.findIndex((other) => other.run === name) !== index);
  if (twice !== undefined) {
    throw new Fault("BAD_INPUT", {
      op: "usage",
      subject: `--watch ${twice.folder}`,
      detail: `two watched folders would both be the run ${twice.run}`,
    });
  }
  return watches;
}

/** Looks until the signal fires. */
export async function keepWatching(watching: Watching): Promise<void> {
  const { clock, signal, watch } = watching;
  let notify: (() => void) | null = null;
  const held: { watcher: FSWatcher | null } = { watcher: null };
  try {
    while (!signal.aborted) {
      held.watcher ??= openWatcher(watch.folder, {
        onNotice: () => notify?.(),
        onEnd: () => {
          held.watcher = null;
        },
      });
      try {
        await lookOnce(watching);
      } catch (error) {
        if (!signal.aborted) watching.onFault(toFault(error, { op: "watch", subject: watch.folder }));
      }
      const noticed = new Promise<void>((resolve) => {
        notify = resolve;
      }).then(() => clock.sleep(AFTER_NOTICE_MS, signal));
      await Promise.race([noticed, clock.sleep(RESCAN_MS, signal)]).catch(() => undefined);
    }
  } finally {
    held.watcher?.close();
  }
}

/** Null while the folder does not exist, or where the system has no notifications left. */
function openWatcher(folder: string, on: { onNotice: () => void; onEnd: () => void }): FSWatcher | null {
  try {
    const watcher = watchFolder(folder, on.onNotice);
    watcher.on("error", () => {
      watcher.close();
      on.onEnd();
    });
    return watcher;
  } catch {
    return null;
  }
}

async function lookOnce(watching: Watching): Promise<void> {
  const { watch, settler, signal } = watching;
  const candidates = await findCandidates(watch.folder);
  const finished: { candidate: Candidate; look: Look }[] = [];
  for (const [index, candidate] of candidates.entries()) {
    if (signal.aborted) return;
    const look = await lookOrRefuse(watching, candidate);
    if (look === null) continue;
    if (index === candidates.length - 1) watching.onSeen(candidate, look);
    if (watching.knows(candidate.path, look.fingerprint)) continue;
    if (await settler.isSettled(candidate.path, look)) finished.push({ candidate, look });
  }
  const newest = finished.pop();
  for (const { candidate, look } of finished) await watching.onPassedOver(candidate, look);
  if (newest === undefined) return;
  try {
    await watching.onFinished(newest.candidate, newest.look);
    settler.forget(newest.candidate.path);
  } catch (error) {
    if (signal.aborted) return;
    const fault = toFault(error, { op: "capture", subject: newest.candidate.path });
    settler.forget(newest.candidate.path);
    if (!isFault(error) || error.code !== "SOURCE_CHANGED")
      await watching.onRefused(newest.candidate, { look: newest.look, fault });
  }
}

async function lookOrRefuse(watching: Watching, candidate: Candidate): Promise<Look | null> {
  try {
    return await lookAt(candidate);
  } catch (error) {
    await watching.onRefused(candidate, { look: null, fault: toFault(error) });
    return null;
  }
}
