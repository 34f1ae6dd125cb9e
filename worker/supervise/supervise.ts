import { aborted, drain, type Life } from "../agent/agent.ts";
import type { ProgramOver } from "../capture/detection/settle.ts";
import type { Agent } from "../agent/agent-assemble.ts";
import type { Environment } from "../base/environment.ts";
import { programEnvironment } from "../command-line/config.ts";
import { foldersOf, goOnBeside, type Orphan } from "./take-place.ts";
import { restorePriority, lowerPriority } from "../host/nice.ts";
import { systemClock } from "../base/clock.ts";
import { judgeWords } from "../agent/judge-beginning.ts";
import { judgeOver } from "./judge-over.ts";
import { tellNothingTaken, type NothingTaken } from "./judge-safety.ts";
import { offerBefore } from "./offer-before.ts";
import type { ResumePoint } from "../agent/choose-resume.ts";
import { prepareRuns } from "./prepare.ts";
import { createProgressBars } from "../program/progress-bars.ts";
import { createLogTail } from "../program/log-tail.ts";
import type { GroupSentinel } from "../program/group-sentinel.ts";
import { exitCodeOf, type ProgramEnd, type ProgramOptions } from "../program/program.ts";
import { asUser, userVariables, type ProgramUser } from "../program/program-user.ts";
import { restartAfter, type RestartPolicy } from "./restart-policy.ts";
import { endOrphans, findOrphans } from "../program/settle-orphans.ts";
import { startGuarded, type GuardedProgram } from "./start-guarded.ts";

/** Program that runs beside an agent, and how it is started, restarted and ended. */
export interface Supervision {
  program: readonly string[];
  /** Environment of the worker; its secrets are removed. */
  env: Environment;
  /** Variables for this program. Those of the worker, such as TIDEMARK_RESUME_PATH, replace variables of the same name. */
  variables?: Environment;
  /** Values that are replaced by `***` where the program prints them. */
  hidden?: readonly string[];
  /** Called with all output of the program, in which the hidden values are replaced. */
  onSaid?(chunk: Buffer): void;
  /** Working folder of the program; the worker's own when left out. */
  cwd?: string;
  /** Stream for the program's stdout. */
  out: ProgramOptions["out"];
  err: ProgramOptions["err"];
  /** The program shares the terminal, which sends signals to the program directly. */
  sharesTerminal: boolean;
  user: ProgramUser | null;
  policy: RestartPolicy;
  beginning: Parameters<typeof prepareRuns>[1];
  orphan: Orphan;
  /** Whether the worker lowers its own priority while the program runs. */
  mayLower: boolean;
  /** Holds the program while it runs. */
  running: Running;
}

export interface Running {
  program: GuardedProgram | null;
  /** Signal for the program that arrived while it was being started; it gets it then. */
  missed: NodeJS.Signals | null;
  /** When the first SIGINT arrived, epoch ms. */
  interruptedAtMs: number | null;
}

/** Sends a signal to the program, or keeps it for the one that is being started. */
function tellProgram(running: Running, name: NodeJS.Signals): void {
  if (running.program === null) running.missed = name;
  else running.program.send(name);
}

/** End of a supervised program. */
export interface Supervised {
  /** Null when the program was not started, or was killed at the end of the grace period. */
  end: ProgramEnd | null;
  /** The program ended before this worker was asked to stop. */
  endedBeforeStop: boolean;
  /** Checkpoints from which the program was started last; null when it was not started. */
  points: readonly ResumePoint[] | null;
  /** Watched folders from which nothing was captured. */
  nothingTaken: readonly NothingTaken[];
}

/**
 * Prepares the watched runs, runs the program beside the agent, and resolves when the program has ended and its checkpoints
 * are uploaded or time is over. @throws Faults of `prepareRuns`, PROGRAM_NOT_FOUND, PROGRAM_NOT_EXECUTABLE
 */
export async function supervise(agent: Agent, life: Life, about: Supervision): Promise<Supervised> {
  const { policy, beginning, orphan, running } = about;
  const startedAt = Date.now();
  life.askedByHub.addEventListener("abort", () => tellProgram(running, "SIGTERM"), { once: true });
  // A program that does not end in time is killed, because the platform may remove the machine at any moment.
  agent.signal.addEventListener("abort", () => endLate(agent, orphan, running.program));
  // Uploads do not wait for the end of the program, which may use up all the remaining time.
  life.stopping.addEventListener("abort", () => void drain(agent), { once: true });
  let points: Supervised["points"] = null;
  const start = (from: readonly ResumePoint[]) => {
    points = from;
    return startBeside(agent, from, about);
  };
  const ended = await keepRunning(agent, { policy, life, beginning, orphan, running, start });
  if (ended === null) return { end: null, endedBeforeStop: false, points, nothingTaken: [] };
  const { end, endedBeforeStop, over } = ended;
  agent.reporter.programEnded({ code: end.code, signal: end.signal });
  await life.endCaptures(over);
  const nothingTaken = await tellNothingTaken(agent, startedAt);
  await drain(agent);
  return { end, endedBeforeStop, points, nothingTaken };
}

/** Starts the program with the variables of its run, and follows what it prints. */
async function startBeside(
  agent: Agent,
  points: readonly ResumePoint[],
  { program: words, running, orphan, user, mayLower, ...about }: Supervision,
): Promise<GuardedProgram> {
  const { out, err, sharesTerminal, cwd, hidden = [] } = about;
  running.program = null;
  running.missed = null;
  const tail = createLogTail();
  const bars = createProgressBars();
  agent.logTail = tail.text;
  agent.bars = bars;
  const own = { ...variablesFor(agent, points), ...(user !== null && userVariables(user)) };
  const foreign = Object.fromEntries(Object.entries(about.variables ?? {}).filter(([name]) => !(name in own)));
  const started = user === null ? { command: words, env: foreign } : asUser(user, words, foreign);
  const env = programEnvironment(about.env, { ...started.env, ...own });
  const onSaid = (chunk: Buffer) => {
    tail.add(chunk);
    bars.add(chunk);
    about.onSaid?.(chunk);
  };
  const isKept = about.onSaid !== undefined;
  const program = await startGuarded(agent, {
    command: started.command,
    name: words[0] ?? "",
    options: {
      env,
      out,
      err,
      onSaid,
      hidden,
      isKept,
      hasOwnSession: !sharesTerminal,
      ...(cwd !== undefined && { cwd }),
    },
    ...orphan,
    onStart: () => mayLower && restorePriority(),
  });
  running.program = program;
  if (running.missed !== null) program.send(running.missed);
  if (mayLower) lowerPriority();
  return program;
}

/** Passes a signal on to the program, unless the terminal has sent it to the whole process group. */
export async function passOn(
  name: NodeJS.Signals,
  about: { sentinel: GroupSentinel | null; running: Running },
): Promise<void> {
  if (name === "SIGINT") about.running.interruptedAtMs ??= Date.now();
  if (about.sentinel !== null && (await about.sentinel.isForAll(name))) return;
  tellProgram(about.running, name);
}

/** Kills the program's processes at the end of the grace period and reports them, if the program is to end with its worker. */
function endLate({ reporter }: Agent, { policy, patienceMs }: Orphan, program: GuardedProgram | null): void {
  if (policy !== "end" || program === null) return;
  const left = program.descendants.kill();
  if (left.length > 0) reporter.graceOver({ left, graceMs: patienceMs });
}

/** Interval of recording that the program runs, by which the time of a kill is known later; each writes a few hundred bytes. */
const ALIVE_EVERY_MS = 500;

/** Records the step of a progress bar that a checkpoint has confirmed. With several runs it is unknown which one a bar shows. */
function hearBars({ options, training, runs, bars, reporter }: Agent): void {
  const [watch, another] = options.watches;
  const step = bars?.step() ?? null;
  if (watch === undefined || another !== undefined || step === null) return;
  const { run } = watch;
  try {
    training.show(run, { step, at: Date.now(), epoch: runs.get(run)?.claim?.epoch ?? null });
  } catch (error) {
    reporter.waitingFor(error);
  }
}

/** Records that the program still runs, so that a later loss includes this time. */
function saysItGoesOn(agent: Agent): void {
  const { options, training, reporter } = agent;
  hearBars(agent);
  for (const { run } of options.watches) training.goesOn(run, Date.now());
  // A failed write, as on a full disk, must not disturb training.
  judgeWords(agent).catch(reporter.waitingFor);
}

interface Ended extends Pick<Supervised, "endedBeforeStop"> {
  end: ProgramEnd;
  over: ProgramOver;
}

/** Starts the program, and again after failures. Returns its end; null when it was not started or still runs at the end. */
async function keepRunning(
  agent: Agent,
  about: {
    policy: RestartPolicy;
    life: Life;
    beginning: Parameters<typeof prepareRuns>[1];
    orphan: Orphan;
    running: Running;
    start(points: readonly ResumePoint[]): Promise<GuardedProgram>;
  },
): Promise<Ended | null> {
  const { policy, life, beginning, orphan, running } = about;
  let failures = { count: 0 };
  if (orphan.awaited !== null) await goOnBeside(agent, orphan.awaited, life.stopping);
  for (;;) {
    const ready = prepareRuns(agent, beginning);
    // A restore that is interrupted by a stop continues at the next start.
    ready.catch(() => undefined);
    const points = await Promise.race([ready, aborted(life.stopping, agent.signal).then(() => null)]);
    if (points === null || life.stopping.aborted || agent.signal.aborted) return null;
    const startedAt = performance.now();
    const startedWall = Date.now();
    const { ended, finish, descendants } = await about.start(points);
    const clock = setInterval(() => saysItGoesOn(agent), ALIVE_EVERY_MS);
    const outOfTime = aborted(agent.signal).then(() => (orphan.policy === "end" ? ended : null));
    const end = await Promise.race([ended, outOfTime]).finally(() => clearInterval(clock));
    if (end === null) return null;
    const endedBeforeStop = !life.stopping.aborted;
    const isGone = await descendants.settle({
      ...orphan,
      isStopping: () => life.stopping.aborted,
      signal: agent.signal,
      onLeft: (left, willEnd) => agent.reporter.leftRunning({ left, patienceMs: willEnd ? orphan.patienceMs : null }),
    });
    await finish({ ...end, isGone });
    // The worker killed the program at the end of the grace period, so this is no failure of the program.
    if (end.signal === "SIGKILL" && agent.signal.aborted && !life.askedByHub.aborted) return null;
    saysItGoesOn(agent);
    // A program that ended in an orderly way has trained no further than it reported or wrote.
    if (end.code === 0 || life.stopping.aborted) for (const { run } of agent.options.watches) agent.training.end(run);
    const ranMs = performance.now() - startedAt;
    await tellEnd(agent, { ...end, ranMs: Math.round(ranMs) });
    if (end.code !== 0 && !life.stopping.aborted)
      await offerBefore(agent, points, { code: exitCodeOf(end), ranMs, startedAt: startedWall });
    const over = judgeOver(end, { isStop: !endedBeforeStop && isGone, descendants, ...running });
    const again = restartAfter(policy, { end, ranMs, failures });
    if (again === null || life.stopping.aborted) return { end, endedBeforeStop, over };
    ({ failures } = again);
    agent.reporter.restarting({ code: exitCodeOf(end), waitMs: again.waitMs });
    await systemClock.sleep(again.waitMs, AbortSignal.any([life.stopping, agent.signal])).catch(() => undefined);
    if (life.stopping.aborted || agent.signal.aborted) return { end, endedBeforeStop, over };
    // A failed launcher may have left training processes behind.
    const left = await findOrphans(agent.state, foldersOf(agent.options.watches));
    await endOrphans(left, { ...orphan, reporter: agent.reporter, signal: agent.signal });
  }
}

/** Records the end for the hub's history. A failed write is only reported. */
async function tellEnd(agent: Agent, end: ProgramEnd & { ranMs: number }): Promise<void> {
  const { options, outbox, logTail, reporter } = agent;
  const [watch] = options.watches;
  if (watch === undefined) return;
  const event = { type: "program-ended" as const, run: watch.run, ...end, tail: logTail?.() ?? "" };
  await outbox.add(event).catch(reporter.waitingFor);
}

/**
 * Returns the variables for the program: the checkpoint to resume from (empty: the beginning), the file for its steps (empty:
 * the program asks the local API), and the addresses of the local API.
 */
function variablesFor(agent: Agent, points: readonly ResumePoint[]): Record<string, string> {
  const { listener } = agent.local;
  const [first] = points;
  // A program of another user can only reach the files in its own folder.
  if (listener?.programSocket != null)
    return { TIDEMARK_SOCKET: listener.programSocket, TIDEMARK_STEP_RECORD: stepRecordFor(agent), ...resumeAt(first) };
  return {
    ...(listener?.socket != null && { TIDEMARK_SOCKET: listener.socket }),
    ...(listener?.url != null && { TIDEMARK_LOCAL_URL: listener.url }),
    ...(listener?.tokenFile != null && { TIDEMARK_LOCAL_TOKEN_FILE: listener.tokenFile }),
    TIDEMARK_STEP_RECORD: stepRecordFor(agent),
    ...resumeAt(first),
  };
}

const resumeAt = (first: ResumePoint | undefined): Record<string, string> => ({
  TIDEMARK_RESUME_PATH: first?.path ?? "",
  TIDEMARK_RESUME_STEP: first === undefined ? "" : String(first.step),
});

/** Returns the path of the step record; empty with several runs, where the program has to name its run to the local API. */
function stepRecordFor({ options, stepRecords, reporter }: Agent): string {
  const [watch, another] = options.watches;
  if (watch === undefined || another !== undefined) return "";
  try {
    return stepRecords.keep(watch.run);
  } catch (error) {
    reporter.waitingFor(error);
    return "";
  }
}
