import { aborted, drain, runAgent, type AgentCommand, type Life, type Place } from "../agent/agent.ts";
import type { Agent } from "../agent/agent-assemble.ts";
import { programEnvironment, type Environment } from "../command-line/config.ts";
import { foldersOf, goOnBeside, takePlaceAlone, type Orphan } from "./take-place.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { canComeBack, comeBack, stepAside } from "../host/nice.ts";
import { checkWatch } from "../commands/doctor/check-watch.ts";
import { showFinding } from "../commands/doctor/finding.ts";
import { systemClock } from "../base/clock.ts";
import { judgeWords } from "../agent/judge-beginning.ts";
import { readWatches } from "../capture/watch.ts";
import { usage } from "../command-line/verb.ts";
import { isAllSafe, tellNothingTaken } from "./judge-safety.ts";
import { offerBefore } from "./offer-before.ts";
import { prepareRuns, type ResumePoint } from "./prepare.ts";
import { RESTORE_WISHES, type RestoreWish } from "./restore-others.ts";
import { createProgressBars } from "../program/progress-bars.ts";
import { createLogTail } from "../program/log-tail.ts";
import { startSentinel, type GroupSentinel } from "../program/group-sentinel.ts";
import { exitCodeOf, type ProgramEnd, type ProgramOptions } from "../program/program.ts";
import { asUser, findProgram, programPlace, readProgramUser, userVariables } from "../program/program-user.ts";
import { readRestartPolicy, restartAfter, type RestartPolicy } from "./restart-policy.ts";
import { readStartFrom } from "./start-from.ts";
import { endOrphans, findOrphans, ORPHAN_POLICIES } from "../program/settle-orphans.ts";
import { startGuarded, type GuardedProgram } from "./start-guarded.ts";

/**
 * Input of `tidemark run -- CMD`, which puts the newest complete checkpoint in place, starts the program, and uploads its
 * checkpoints while it runs. It ends with the program's exit code, after the remaining checkpoints are uploaded.
 */
export interface RunCommand extends AgentCommand {
  program: readonly string[];
  env: Environment;
  /** Stream for the program's stdout. */
  out: ProgramOptions["out"];
  err: ProgramOptions["err"];
  /** Calls `listener` for every signal that the program should get. */
  onSignal(listener: (name: NodeJS.Signals) => void): void;
  /** Calls `act` when this process exits immediately, after a second signal or at the end of the grace period. */
  onEndAtOnce(act: () => void): void;
  /** The program shares the terminal, which sends signals to the program directly. */
  sharesTerminal: boolean;
}

/** Returns the exit code. @throws Faults of `runAgent` and `prepareRuns`, PROGRAM_NOT_FOUND, PROGRAM_NOT_EXECUTABLE */
export async function runProgram(command: RunCommand): Promise<number> {
  const policy = readRestartPolicy(command.config.text("restart") ?? "no");
  if (command.program.length === 0)
    throw usage("run", "the program is missing: tidemark run --watch DIR -- python train.py");
  if (command.config.list("watch").length === 0) throw usage("run", "it needs --watch DIR, where checkpoints appear");
  if (command.config.isOn("dry-run")) return lookDry(command);
  const beginning = {
    startFrom: readStartFrom(command.config.text("from"), command.config.list("watch").length),
    wish: readRestoreWish(command.config.text("restore")),
  };
  // A restarted program must not inherit the worker's low priority, so the priority is only lowered if it can be raised again.
  const mayLower = policy.mostRestarts === 0 || canComeBack();
  const orphan: Orphan = {
    policy: ORPHAN_POLICIES.find((one) => one === command.config.text("orphan")) ?? "end",
    patienceMs: command.config.durationMs("grace"),
    awaited: null,
  };
  const user = readProgramUser(command.config.text("user"));
  if (user !== null && findProgram(command.program[0] ?? "", command.env) === null)
    throw new Fault("PROGRAM_NOT_FOUND", { op: "run", subject: command.program[0] ?? "" });
  const running: { program: GuardedProgram | null } = { program: null };
  const sentinel = command.sharesTerminal ? startSentinel() : null;
  command.onSignal((name) => void passOn(name, { sentinel, program: () => running.program }));
  command.onEndAtOnce(() => orphan.policy === "end" && running.program?.descendants.kill());
  const last: { end: ProgramEnd | null; isSafe: boolean } = { end: null, isSafe: true };
  const startedAt = Date.now();
  const takePlace = (place: Place) => takePlaceAlone(place, orphan, command.stopping);
  const place = (state: string) => (user === null ? null : programPlace(state, user));
  await runAgent({ ...command, preparesRuns: true, takePlace, programPlace: place }, async (agent, life) => {
    life.askedByHub.addEventListener("abort", () => running.program?.send("SIGTERM"), { once: true });
    // A program that does not end in time is killed, because the platform may remove the machine at any moment.
    agent.signal.addEventListener("abort", () => endLate(agent, orphan, running.program));
    // Uploads do not wait for the end of the program, which may use up all the remaining time.
    life.stopping.addEventListener("abort", () => void drain(agent), { once: true });
    const end = await keepRunning(agent, {
      policy,
      life,
      beginning,
      orphan,
      start: async (points) => {
        const tail = createLogTail();
        const bars = createProgressBars();
        agent.logTail = tail.text;
        agent.bars = bars;
        const env = programEnvironment(command.env, {
          ...variablesFor(agent, points),
          ...(user !== null && userVariables(user)),
        });
        const { out, err } = command;
        const onSaid = (chunk: Buffer) => {
          tail.add(chunk);
          bars.add(chunk);
        };
        const program = await startGuarded(agent, {
          command: user === null ? command.program : asUser(user, command.program),
          name: command.program[0] ?? "",
          options: { env, out, err, onSaid, hasOwnSession: !command.sharesTerminal },
          ...orphan,
          onStart: () => mayLower && comeBack(),
        });
        running.program = program;
        if (mayLower) stepAside();
        return program;
      },
    });
    last.end = end;
    if (end === null) {
      life.end();
      return;
    }
    agent.reporter.programEnded({ code: end.code, signal: end.signal });
    await life.endCaptures(end.code === 0 ? "done" : "crashed");
    const nothingTaken = await tellNothingTaken(agent, startedAt);
    await drain(agent);
    last.isSafe = !command.config.isOn("require-safe") || (await isAllSafe(agent, nothingTaken));
    life.end();
  }).finally(() => sentinel?.close());
  const code = exitCodeOf(last.end ?? { code: null, signal: "SIGTERM" });
  return code === 0 && !last.isSafe ? EXIT_UNSAFE : code;
}

/** Passes a signal on to the program, unless the terminal has sent it to the whole process group. */
async function passOn(
  name: NodeJS.Signals,
  about: { sentinel: GroupSentinel | null; program(): GuardedProgram | null },
): Promise<void> {
  if (about.sentinel !== null && (await about.sentinel.isForAll(name))) return;
  about.program()?.send(name);
}

/** Kills the program's processes at the end of the grace period and reports them, if the program is to end with its worker. */
function endLate({ reporter }: Agent, { policy, patienceMs }: Orphan, program: GuardedProgram | null): void {
  if (policy !== "end" || program === null) return;
  const left = program.descendants.kill();
  if (left.length > 0) reporter.graceOver({ left, graceMs: patienceMs });
}

/** Reads --restore. @throws Fault BAD_INPUT */
function readRestoreWish(text: string | null): RestoreWish {
  const wish = RESTORE_WISHES.find((one) => one === (text ?? "named"));
  if (wish === undefined) throw usage(`--restore ${text}`, RESTORE_WISHES.join(", "));
  return wish;
}

/** Implements --dry-run: reports what an agent would capture in the watched folders, and starts nothing. */
async function lookDry({ config, terminal }: RunCommand): Promise<number> {
  const watches = readWatches({
    folders: config.list("watch"),
    runs: config.list("run"),
    patterns: config.list("pattern"),
  });
  for (const watch of watches) for (const finding of await checkWatch(watch)) showFinding(terminal, finding);
  return 0;
}

/** Exit code with `--require-safe` when the program ended with 0, but not everything that it wrote is safe. */
const EXIT_UNSAFE = 9;

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

/** Starts the program, and again after failures. Returns its end; null when it was not started or still runs at the end. */
async function keepRunning(
  agent: Agent,
  about: {
    policy: RestartPolicy;
    life: Life;
    beginning: Parameters<typeof prepareRuns>[1];
    orphan: Orphan;
    start(points: readonly ResumePoint[]): Promise<GuardedProgram>;
  },
): Promise<ProgramEnd | null> {
  const { policy, life, beginning, orphan } = about;
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
    const clock = setInterval(() => saysItGoesOn(agent), ALIVE_EVERY_MS);
    const { ended, finish, descendants } = await about.start(points);
    const outOfTime = aborted(agent.signal).then(() => (orphan.policy === "end" ? ended : null));
    const end = await Promise.race([ended, outOfTime]).finally(() => clearInterval(clock));
    if (end === null) return null;
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
    const again = restartAfter(policy, { end, ranMs, failures });
    if (again === null || life.stopping.aborted) return end;
    ({ failures } = again);
    agent.reporter.restarting({ code: exitCodeOf(end), waitMs: again.waitMs });
    await systemClock.sleep(again.waitMs, AbortSignal.any([life.stopping, agent.signal])).catch(() => undefined);
    if (life.stopping.aborted || agent.signal.aborted) return end;
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
  const { door } = agent.local;
  const [first] = points;
  // A program of another user can only reach the files in its own folder.
  if (door?.programSocket != null)
    return { TIDEMARK_SOCKET: door.programSocket, TIDEMARK_STEP_RECORD: stepRecordFor(agent), ...resumeAt(first) };
  return {
    ...(door?.socket != null && { TIDEMARK_SOCKET: door.socket }),
    ...(door?.url != null && { TIDEMARK_LOCAL_URL: door.url }),
    ...(door?.tokenFile != null && { TIDEMARK_LOCAL_TOKEN_FILE: door.tokenFile }),
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
