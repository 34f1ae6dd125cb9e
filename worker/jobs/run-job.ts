import type { AttemptExit, TakenJob } from "#protocol/jobs/node-jobs.ts";
import { isFault, sentenceOf, toFault } from "#protocol/faults/fault.ts";
import { runAgent, type Life } from "../agent/agent.ts";
import type { Agent } from "../agent/agent-assemble.ts";
import { systemClock } from "../base/clock.ts";
import { isFatal } from "../hub-link/stream.ts";
import { programPlace } from "../program/program-user.ts";
import { supervise, type Supervised, type Supervision } from "../supervise/supervise.ts";
import { takePlaceAlone, type Orphan } from "../supervise/take-place.ts";
import { isUnsafe } from "../upload/backlog.ts";
import type { AttemptReport } from "./job-calls.ts";
import { makePlace, readPlace, type JobPlace } from "./job-place.ts";
import type { JobWorker } from "./job-worker.ts";
import { keepLease } from "./keep-lease.ts";
import { settlePlace } from "./settle-place.ts";
import { keepEnd, reportEnd } from "./unreported-end.ts";

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
    // The next agent tells the hub.
    await keepEnd(command.state, { ...reportOf(job, exitOfFault(fault, command.stopping)), ...NO_STEPS });
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

/** Faults by which the hub says that another node has the run. */
const LOST: ReadonlySet<string> = new Set(["EPOCH_OVER", "RUN_IN_USE", "CANCELLED"]);
const MOST_WHY = 1_024;

/** Returns how an attempt ended whose program could not be started. */
function exitOfFault(error: unknown, stopping: AbortSignal): AttemptExit {
  const fault = toFault(error, { op: "work" });
  const why = sentenceOf(fault.toData()).slice(0, MOST_WHY);
  return stopping.aborted || LOST.has(fault.code) ? { kind: "interrupted", why } : { kind: "refused", why };
}

interface Attempt {
  worker: JobWorker;
  job: TakenJob;
  place: JobPlace;
  orphan: Orphan;
}

async function attempt(agent: Agent, life: Life, about: Attempt): Promise<"next" | "stop"> {
  const { worker, job, place } = about;
  const { command, messages } = worker;
  const lease = { over: false };
  const ended = new AbortController();
  const signal = AbortSignal.any([ended.signal, agent.signal]);
  const { hub, bootId } = agent;
  const held = keepLease(job, { hub, bootId, clock: systemClock, signal }).then((reason) => {
    if (reason === null) return;
    lease.over = true;
    messages.over(job, reason);
    agent.stopWithin(worker.graceMs);
  });
  let supervised: Supervised = { end: null, points: null, nothingTaken: [] };
  let exit: AttemptExit;
  try {
    supervised = await supervise(agent, life, supervisionOf(about));
    exit = exitOf(agent, life, { job, supervised });
  } catch (error) {
    if (isFatal(error) || !isFault(error)) throw error;
    exit = exitOfFault(error, life.stopping);
  }
  ended.abort();
  await held;
  if (!lease.over) await tell(agent, command, { ...reportOf(job, exit), ...stepsOf(agent, job, supervised) });
  const isStopped = command.stopping.aborted || (life.askedByHub.aborted && !lease.over);
  if (exit.kind !== "interrupted" || lease.over)
    if (!(await settlePlace(agent, place))) messages.folderKept(job, place.cwd);
  return isStopped ? "stop" : "next";

  /** Keeps the end and sends it. The next agent repeats what fails. */
  async function tell(
    { reporter }: Pick<Agent, "reporter">,
    { state, goodbyeMs, stopping }: JobWorker["command"],
    report: AttemptReport,
  ): Promise<void> {
    await keepEnd(state, report).catch(reporter.waitingFor);
    const sent = reportEnd(hub, state, messages).catch(reporter.waitingFor);
    // Part of the time for the last messages, the rest of which is for the goodbye.
    if (stopping.aborted) await Promise.race([sent, systemClock.sleep(goodbyeMs / 2)]);
    else await sent;
  }
}

/** Returns how the program is supervised: as by `tidemark run`, but the hub decides about restarts. */
function supervisionOf({ worker, job, place, orphan }: Attempt): Supervision {
  const { env, out, err, user, wish, mayLower, running } = worker;
  const { spec, cwd } = place;
  return {
    program: [spec.command, ...spec.arguments],
    env,
    variables: { ...spec.environment, TIDEMARK_JOB_ID: job.id },
    cwd,
    out,
    err,
    sharesTerminal: false,
    user,
    policy: { mostRestarts: 0 },
    beginning: { startFrom: { kind: "newest" }, wish },
    orphan,
    mayLower,
    running,
  };
}

/** Returns how the attempt ended, by the end of its program. */
function exitOf(agent: Agent, life: Life, { job, supervised }: { job: TakenJob; supervised: Supervised }): AttemptExit {
  const { end } = supervised;
  if (end === null || life.stopping.aborted) return { kind: "interrupted", why: "its worker was asked to stop" };
  if (end.signal !== null) return { kind: "killed", signal: end.signal };
  const code = end.code ?? 1;
  const isLeft = agent.ledger.all().some((item) => item.run === job.run && isUnsafe(item));
  return { kind: "exited", code: code === 0 && isLeft ? EXIT_UNSAFE : code };
}

/** Returns from which step the attempt started, how far it came, and which step is safe. */
function stepsOf({ training, ledger, runs }: Agent, { run }: TakenJob, { points }: Supervised) {
  const safeStep = ledger.safe(run)?.step ?? null;
  const said = training.of(run, runs.get(run)?.claim?.epoch ?? null)?.step ?? null;
  const reached = Math.max(said ?? -1, safeStep ?? -1);
  return { fromStep: points?.[0]?.step ?? null, toStep: reached < 0 ? null : reached, safeStep };
}
