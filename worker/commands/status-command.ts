import { join } from "node:path";
import * as z from "zod";
import { isFault, sentenceOf, toFault } from "#protocol/faults/fault.ts";
import type { LocalStatus } from "#protocol/local-api/local.ts";
import { formatBytes, formatCount } from "#protocol/base/units.ts";
import { readHolder } from "../host/lock.ts";
import { stateFolder } from "../host/state-folder.ts";
import { listAllAside } from "../restore/placement/set-aside.ts";
import { isUnsafe } from "../upload/backlog.ts";
import { readLedger } from "../capture/ledger.ts";
import type { Config } from "../command-line/config.ts";
import type { CommandContext } from "../command-line/command-context.ts";
import { adviseHere } from "./advise-here.ts";
import { listRuns } from "./runs.ts";
import { asideSentences, sentencesOf } from "./status-sentences.ts";
import { suggestHub } from "./suggest-hub.ts";
import { watchStatus } from "./watch-status.ts";
import { askLocal } from "../local-api/ask-local.ts";
import { findSocket } from "../local-api/socket-path.ts";

/** Answer of the worker, which has the same version or one that only added fields. */
const answer = z.custom<LocalStatus>(
  (value) => z.object({ pending: z.number(), runs: z.array(z.unknown()) }).safeParse(value).success,
);

const NOBODY_RUNS = 3;

/**
 * Implements `tidemark status`. Ends with 0 when a worker answers, and with 3 when none does or it has ended. Faults:
 * BAD_INPUT, READ_FAILED.
 */
export async function showStatus({ config, terminal, signal, home }: CommandContext): Promise<number> {
  const state = await stateFolder(config.text("state"), home);
  const read = () => askLocal(state, { asked: "GET /v1/status", answer, signal });
  try {
    // Without a terminal nothing can be redrawn.
    if (config.isOn("live") && (terminal.isLive || config.isOn("json"))) {
      await watchStatus(terminal, { read, signal });
      return 0;
    }
    const status = await read();
    const sentences = [...sentencesOf(status), ...(await suggestHub(state, status.hub.url, status.otherWriters ?? []))];
    terminal.result(sentences, { type: "status", running: true, ...status });
    return 0;
  } catch (error) {
    if (!isFault(error) || error.code !== "NO_WORKER") throw error;
  }
  const { captures, folders, safe, runs } = await readLedger(join(state, "ledger.jsonl"));
  const waiting = captures.filter(isUnsafe);
  const aside = await listAllAside(folders);
  const bytes = waiting.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const queue =
    waiting.length === 0
      ? "nothing waits in its queue"
      : `${formatCount(waiting.length)} checkpoints, ${formatBytes(bytes)}, wait in its queue and go on at the next start`;
  const advice = await adviseHere({ config, home, signal }, { captures, safe, runs });
  const to = config.text("to");
  const stored = to === null ? null : await listStored(config, { to, signal });
  const others = stored?.otherWriters ?? [];
  const suggested = to === null ? [] : await suggestHub(state, to, others);
  // A worker that runs but does not answer is reported as such.
  const holder = await readHolder(state);
  const lead =
    holder?.isAlive === true
      ? `A worker runs on ${state} (process ${holder.pid}), but does not answer at ${await findSocket(state)}: it begins or ends, or its socket cannot be reached from here`
      : `No worker runs on ${state}`;
  const sentences = [...advice.sentences, ...asideSentences(aside), ...(stored?.sentences ?? []), ...suggested];
  terminal.result([`${lead}; ${queue}.`, ...sentences], {
    type: "status",
    running: holder?.isAlive === true,
    ...(holder?.isAlive === true && { answers: false }),
    pending: waiting.length,
    bytes,
    ...(advice.runs.length > 0 && { continueFrom: advice.runs, continueBy: advice.by }),
    aside,
    ...(stored !== null && { stored: stored.runs }),
  });
  return NOBODY_RUNS;
}

/**
 * Lists the runs of the bucket. Returns null when the bucket does not answer, so that the queue is shown anyway.
 */
async function listStored(config: Config, about: { to: string; signal: AbortSignal }) {
  try {
    return await listRuns(config, about);
  } catch (error) {
    return { runs: null, sentences: [sentenceOf(toFault(error).toData())], otherWriters: [] };
  }
}
