import type { AttemptExit, TakenJob } from "#protocol/jobs/node-jobs.ts";
import { isFault, toFault } from "#protocol/faults/fault.ts";
import { runAgent, type Life } from "../agent/agent.ts";
import { hasOwnWork, type Agent } from "../agent/agent-assemble.ts";
import { isFatal } from "../hub-link/stream.ts";
import { programPlace } from "../program/program-user.ts";
import { isNothingLeft, type SafetyParts } from "../supervise/judge-safety.ts";
import { supervise, type Supervised, type Supervision } from "../supervise/supervise.ts";
import { takePlaceAlone, type Orphan } from "../supervise/take-place.ts";
import { isUnsafe } from "../upload/backlog.ts";
import type { LogUploader } from "./log/upload-log.ts";
import { openLog } from "./log/open-log.ts";
import { fetchInputs } from "./bytes/fetch-inputs.ts";
import { openInputCache } from "./bytes/input-cache.ts";
import { fetchNext, keepFetchingAhead } from "./bytes/keep-fetching-ahead.ts";
import { saveOutputs, type SavedFiles } from "./bytes/save-outputs.ts";
import { exitOfFault, exitOfInputs, exitOfOutputs } from "./exit-of-fault.ts";
import { makePlace, readPlace, type JobPlace } from "./job-place.ts";
import type { JobWorker } from "./job-worker.ts";
import { keepLease } from "./keep-lease.ts";
import { folderOf, variablesOfSlot } from "./slots/slot.ts";
import { settlePlace } from "./settle-place.ts";

/** Exit code of an attempt whose program ended with 0, but not everything that it captured is safe: that of `--require-safe`. */
const EXIT_UNSAFE = 9;

/**
 * Runs one attempt of a job beside an agent of its own: prepares its run, supervises its program, uploads what the program
 * left, and reports the end. Returns `stop` when this worker was asked to stop. @throws Faults that end this node
 */
export async function runJob(worker: JobWorker, job: TakenJob): Promise<"next" | "stop"> {
  const { command, user, messages } = worker;
  const orphan: Orphan = { policy: "end", patienceMs: worker.graceMs, awaited: null };
  let next: "next" | "stop" = "next";
  let isAtWork = false;
  try {
    const place = readPlace(job, worker.folder);
    await makePlace(place, user);
    messages.taken(job, place.cwd);
    await runAgent(
      {
        ...command,
        watches: place.watches,
        preparesRuns: true,
        takePlace: (at) => takePlaceAlone(at, orphan, command.stopping),
        programPlace: (state) => (user === null ? null : programPlace(state, user)),
      },
      async (agent, life) => {
        isAtWork = true;
        next = await attempt(agent, life, { worker, job, place, orphan });
        if (next === "stop") life.end();
        else life.makeWay();
      },
    );
    return next;
  } catch (error) {
    const fault = toFault(error, { op: "work", subject: job.name });
    if (isAtWork || isFatal(fault)) throw fault;
    const exit = exitOfFault(fault, { stopping: command.stopping, setbacks: worker.setbacks });
    // The next agent tells the hub.
    await worker.unreported.keep({ ...reportOf(job, exit), ...NO_STEPS }).catch((unkept: unknown) => {
      messages.endNotKept(toFault(unkept, { op: "work" }));
    });
    return command.stopping.aborted ? "stop" : "next";
  }
}

const NO_STEPS = { fromStep: null, toStep: null, safeStep: null };

const reportOf = ({ id, attempt: number, epoch }: TakenJob, exit: AttemptExit) => ({
  jobId: id,
  attempt: number,
  epoch,
  exit,
});

/** Maps a fault to the end of the attempt, by the phase in which the fault occurred. */
const EXITS = { inputs: exitOfInputs, program: exitOfFault, outputs: exitOfOutputs } as const;
/** Longest wait until the last output of a program is in the bucket. */
const LAST_OUTPUT_MS = { stopped: 3_000, ended: 20_000 } as const;

interface Attempt {
  worker: JobWorker;
  job: TakenJob;
  place: JobPlace;
  orphan: Orphan;
}

async function attempt(agent: Agent, life: Life, about: Attempt): Promise<"next" | "stop"> {
  const log = openLog(agent, about.job, { spec: about.place.spec, clock: about.worker.clock });
  void log.uploader.run();
  try {
    return await attemptWith(log.uploader, agent, { ...about, life });
  } finally {
    await log.uploader.end(0);
    await log.close();
  }
}

async function attemptWith(log: LogUploader, agent: Agent, about: Attempt & { life: Life }): Promise<"next" | "stop"> {
  const { worker, job, place, life } = about;
  const { command, messages, unreported } = worker;
  const lease = { over: false };
  const ended = new AbortController();
  const signal = AbortSignal.any([ended.signal, agent.signal]);
  const { hub, bootId, reporter } = agent;
  const held = keepLease(job, { hub, bootId, clock: worker.clock, signal }).then((reason) => {
    if (reason === null) return;
    lease.over = true;
    messages.over(job, reason);
    life.endWithin(worker.graceMs);
  });
  let supervised: Supervised = { end: null, endedBeforeStop: false, points: null, nothingTaken: [] };
  let exit: AttemptExit;
  let saved: SavedFiles = new Map();
  let doing: keyof typeof EXITS = "inputs";
  const cache = openInputCache(
    worker.inputsFolder,
    worker.inputCacheBytes,
    worker.slot === null ? null : folderOf(worker.slot),
  );
  try {
    doing = "inputs";
    await fetchInputs({
      ...about,
      agent,
      user: worker.user,
      cache,
      signal: AbortSignal.any([life.stopping, agent.signal]),
      onFetch: messages.fetching,
    });
    doing = "program";
    supervised = await whileFetchingAhead(() => supervise(agent, life, supervisionOf(about, log.add)));
    exit = await exitOf(agent, life, { job, supervised });
    if (supervised.end !== null) worker.setbacks.count = 0;
    doing = "outputs";
    if (exit.kind === "exited" && exit.code === 0)
      saved = await saveOutputs({ ...about, agent, signal: agent.signal, onSave: messages.saving });
  } catch (error) {
    if (isFatal(error) || !isFault(error)) throw error;
    exit = EXITS[doing](error, { stopping: life.stopping, setbacks: worker.setbacks });
  } finally {
    worker.running.program = null;
  }
  // It is on disk before anything that can wait for the hub.
  if (!lease.over)
    await unreported.keep({ ...reportOf(job, exit), ...stepsOf(agent, job, supervised) }).catch(reporter.waitingFor);
  await log.end(life.stopping.aborted ? LAST_OUTPUT_MS.stopped : LAST_OUTPUT_MS.ended);
  ended.abort();
  await held;
  if (lease.over) await unreported.forget().catch(reporter.waitingFor);
  else await tell();
  await cache.leave(job.id);
  const isStopped = command.stopping.aborted || life.leaving.aborted;
  if (exit.kind !== "interrupted" || lease.over)
    if (!(await settlePlace(agent, place, { cache, saved }))) messages.folderKept(job, place.cwd);
  return isStopped ? "stop" : "next";

  /** Fetches the inputs of the next job while the program of this one runs. */
  async function whileFetchingAhead<T>(run: () => Promise<T>): Promise<T> {
    const over = new AbortController();
    const fetching = keepFetchingAhead({
      clock: worker.clock,
      signal: AbortSignal.any([over.signal, life.stopping, agent.signal]),
      // Before the hub has answered, nothing is known of it.
      isBusy: () => agent.session.knows("next-job") === null || hasOwnWork(agent),
      fetch: (until) => fetchNext(agent, worker, { cache, signal: until }),
    }).catch((error: unknown) => reporter.waitingFor(toFault(error, { op: "fetch inputs" })));
    try {
      return await run();
    } finally {
      over.abort();
      await fetching;
    }
  }

  /** Sends the end. The next agent repeats what fails. */
  async function tell(): Promise<void> {
    const sent = unreported.send(hub).catch(reporter.waitingFor);
    // Part of the time for the last messages, the rest of which is for the goodbye.
    if (command.stopping.aborted) await Promise.race([sent, worker.clock.sleep(command.goodbyeMs / 2)]);
    else await sent;
  }
}

/** Returns how the program is supervised: as by `tidemark run`, but the hub decides about restarts. */
function supervisionOf({ worker, job, place, orphan }: Attempt, onSaid: (chunk: Buffer) => void): Supervision {
  const { env, out, err, user, restoreMode, mayLower, running } = worker;
  const variables = worker.slot === null ? {} : variablesOfSlot(env);
  const { spec, cwd } = place;
  return {
    program: [spec.command, ...spec.arguments],
    env,
    // The GPUs of a slot are not for the job to choose.
    variables: { ...spec.environment, ...job.secrets, ...variables, TIDEMARK_JOB_ID: job.id },
    hidden: Object.values(job.secrets),
    onSaid,
    cwd,
    out,
    err,
    sharesTerminal: false,
    user,
    policy: { mostRestarts: 0 },
    beginning: { startFrom: { kind: "newest" }, restoreMode },
    orphan,
    mayLower,
    running,
  };
}

/**
 * Returns how the attempt ended, by the end of its program. A program that ended with 0 before the stop is complete, once all
 * that it wrote is safe and the run of each watched folder has a safe checkpoint.
 */
export async function exitOf(
  agent: SafetyParts,
  life: Pick<Life, "stopping">,
  { job, supervised }: { job: Pick<TakenJob, "run" | "claim">; supervised: Supervised },
): Promise<AttemptExit> {
  const { end, endedBeforeStop, nothingTaken } = supervised;
  const stopped: AttemptExit = { kind: "interrupted", why: "its worker was asked to stop" };
  if (end === null) return stopped;
  if (life.stopping.aborted && !(end.code === 0 && endedBeforeStop)) return stopped;
  if (end.signal !== null) return { kind: "killed", signal: end.signal };
  const code = end.code ?? 1;
  if (code !== 0 || (await isSafe(agent, job, nothingTaken))) return { kind: "exited", code };
  return life.stopping.aborted ? stopped : { kind: "exited", code: EXIT_UNSAFE };
}

async function isSafe(
  agent: SafetyParts,
  { run, claim }: Pick<TakenJob, "run" | "claim">,
  nothingTaken: Supervised["nothingTaken"],
): Promise<boolean> {
  const { ledger, options, savedRuns } = agent;
  // A program may also save checkpoints of a run that it does not watch.
  if (ledger.all().some((item) => item.run === run && isUnsafe(item))) return false;
  if (!(await isNothingLeft(agent, nothingTaken))) return false;
  // An earlier attempt may have trained to the end, so that this one had nothing to write.
  const hasEarlier = claim.newest !== null;
  return hasEarlier || options.watches.every((watch) => savedRuns.has(watch.run) || ledger.safe(watch.run) !== null);
}

/** Returns from which step the attempt started, how far it came, and which step is safe. */
function stepsOf({ training, ledger, runs }: Agent, { run }: TakenJob, { points }: Supervised) {
  const safeStep = ledger.safe(run)?.step ?? null;
  const said = training.of(run, runs.get(run)?.claim?.epoch ?? null)?.step ?? null;
  const reached = Math.max(said ?? -1, safeStep ?? -1);
  return { fromStep: points?.[0]?.step ?? null, toStep: reached < 0 ? null : reached, safeStep };
}
