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
 * `tidemark run -- CMD`: puts the newest complete checkpoint in place, starts the program, keeps its checkpoints safe
 * while it runs, and ends with its exit code when what it left is safe too.
 */
export interface RunCommand extends AgentCommand {
  program: readonly string[];
  env: Environment;
  /** Where the program's own words go. */
  out: ProgramOptions["out"];
  err: ProgramOptions["err"];
  /** Calls `listener` for every signal that the program should hear of. */
  onSignal(listener: (name: NodeJS.Signals) => void): void;
  /** Calls `act` when this process ends without waiting for anything: a second signal came, or the time is over. */
  onEndAtOnce(act: () => void): void;
  /** The terminal sends its signals to the program itself. */
  sharesTerminal: boolean;
}

/** Returns the exit code. Faults: those of `runAgent` and `prepareRuns`, PROGRAM_NOT_FOUND, PROGRAM_NOT_EXECUTABLE. */
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
  // A program that may be started again must not inherit a low priority that cannot be taken back.
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
    // One that does not end in its time keeps nobody: the machine may be gone any moment.
    agent.signal.addEventListener("abort", () => endLate(agent, orphan, running.program));
    // The program may use up all the time that is left, so nothing waits for its end.
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
    agent.narrator.programEnded({ code: end.code, signal: end.signal });
    await life.endCaptures(end.code === 0 ? "done" : "crashed");
    const nothingTaken = await tellNothingTaken(agent, startedAt);
    await drain(agent);
    last.isSafe = !command.config.isOn("require-safe") || (await isAllSafe(agent, nothingTaken));
    life.end();
  }).finally(() => sentinel?.close());
  const code = exitCodeOf(last.end ?? { code: null, signal: "SIGTERM" });
  return code === 0 && !last.isSafe ? EXIT_UNSAFE : code;
}

/** What the terminal sent to the program too is not sent again. */
async function passOn(
  name: NodeJS.Signals,
  about: { sentinel: GroupSentinel | null; program(): GuardedProgram | null },
): Promise<void> {
  if (about.sentinel !== null && (await about.sentinel.isForAll(name))) return;
  about.program()?.send(name);
}

/** The time for work is over: says what has not ended, and ends it where the program is to end with its worker. */
function endLate({ narrator }: Agent, { policy, patienceMs }: Orphan, program: GuardedProgram | null): void {
  if (policy !== "end" || program === null) return;
  const left = program.descendants.kill();
  if (left.length > 0) narrator.graceOver({ left, graceMs: patienceMs });
}

/** @throws Fault BAD_INPUT */
function readRestoreWish(text: string | null): RestoreWish {
  const wish = RESTORE_WISHES.find((one) => one === (text ?? "named"));
  if (wish === undefined) throw usage(`--restore ${text}`, RESTORE_WISHES.join(", "));
  return wish;
}

/** Says what an agent would take in the watched folders, and starts nothing. */
async function lookDry({ config, terminal }: RunCommand): Promise<number> {
  const watches = readWatches({
    folders: config.list("watch"),
    runs: config.list("run"),
    patterns: config.list("pattern"),
  });
  for (const watch of watches) for (const finding of await checkWatch(watch)) showFinding(terminal, finding);
  return 0;
}

/** In place of 0, with `--require-safe`: the program ended well, and not all that it left is safe. */
const EXIT_UNSAFE = 9;

/** How exactly the moment of a kill is known afterwards; each time a few hundred bytes are written in place. */
const ALIVE_EVERY_MS = 500;

/** A progress bar that a checkpoint has confirmed shows how far the program has come. Of several runs nobody knows which one it means. */
function hearBars({ options, training, runs, bars, narrator }: Agent): void {
  const [watch, another] = options.watches;
  const step = bars?.step() ?? null;
  if (watch === undefined || another !== undefined || step === null) return;
  const { run } = watch;
  try {
    training.show(run, { step, at: Date.now(), epoch: runs.get(run)?.claim?.epoch ?? null });
  } catch (error) {
    narrator.waitingFor(error);
  }
}

/** Time that passes while the program runs is lost with it. */
function saysItGoesOn(agent: Agent): void {
  const { options, training, narrator } = agent;
  hearBars(agent);
  for (const { run } of options.watches) training.goesOn(run, Date.now());
  // That it could not be written down (a full disk) keeps nobody from training.
  judgeWords(agent).catch(narrator.waitingFor);
}

/** Null when there was no time to start it, or it goes on when the time is over. */
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
    // What is restored half when it is asked to stop is gone on with at the next start.
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
      onLeft: (left, willEnd) => agent.narrator.leftRunning({ left, patienceMs: willEnd ? orphan.patienceMs : null }),
    });
    await finish({ ...end, isGone });
    // We killed it when the time of a stop was over: that is how the stop ended, and no word of the program's.
    if (end.signal === "SIGKILL" && agent.signal.aborted && !life.askedByHub.aborted) return null;
    saysItGoesOn(agent);
    // What ended by itself, or was asked to, came no further than it said or wrote.
    if (end.code === 0 || life.stopping.aborted) for (const { run } of agent.options.watches) agent.training.end(run);
    const ranMs = performance.now() - startedAt;
    await tellEnd(agent, { ...end, ranMs: Math.round(ranMs) });
    if (end.code !== 0 && !life.stopping.aborted)
      await offerBefore(agent, points, { code: exitCodeOf(end), ranMs, startedAt: startedWall });
    const again = restartAfter(policy, { end, ranMs, failures });
    if (again === null || life.stopping.aborted) return end;
    ({ failures } = again);
    agent.narrator.restarting({ code: exitCodeOf(end), waitMs: again.waitMs });
    await systemClock.sleep(again.waitMs, AbortSignal.any([life.stopping, agent.signal])).catch(() => undefined);
    if (life.stopping.aborted || agent.signal.aborted) return end;
    // A launcher that failed may have left the processes that train.
    const left = await findOrphans(agent.state, foldersOf(agent.options.watches));
    await endOrphans(left, { ...orphan, narrator: agent.narrator, signal: agent.signal });
  }
}

/** For the hub's history. That it could not be written down is said, and keeps nobody from ending or going on. */
async function tellEnd(agent: Agent, end: ProgramEnd & { ranMs: number }): Promise<void> {
  const { options, outbox, logTail, narrator } = agent;
  const [watch] = options.watches;
  if (watch === undefined) return;
  const event = { type: "program-ended" as const, run: watch.run, ...end, tail: logTail?.() ?? "" };
  await outbox.add(event).catch(narrator.waitingFor);
}

/**
 * For the program: where it goes on from (empty: from the beginning), where it writes its steps (empty: it asks), and where it
 * reaches this worker.
 */
function variablesFor(agent: Agent, points: readonly ResumePoint[]): Record<string, string> {
  const { door } = agent.local;
  const [first] = points;
  // A program of another user enters no folder of the worker's but its own.
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

/** Of several runs the program has to say which one it means, and where to write is answered then. */
function stepRecordFor({ options, stepRecords, narrator }: Agent): string {
  const [watch, another] = options.watches;
  if (watch === undefined || another !== undefined) return "";
  try {
    return stepRecords.keep(watch.run);
  } catch (error) {
    narrator.waitingFor(error);
    return "";
  }
}
