import { watchesOf } from "../agent/agent-options.ts";
import { runAgent, type AgentCommand, type Place } from "../agent/agent.ts";
import type { Environment } from "../base/environment.ts";
import { takePlaceAlone, type Orphan } from "./take-place.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { canRestorePriority } from "../host/nice.ts";
import { checkWatch } from "../commands/doctor/check-watch.ts";
import { showFinding } from "../commands/doctor/finding.ts";
import { usage } from "../command-line/command-context.ts";
import { awaitPieces } from "../agent/confirm-pieces.ts";
import { isAllSafe } from "./judge-safety.ts";
import { readRestoreMode } from "./restore-others.ts";
import { startSentinel } from "../program/group-sentinel.ts";
import { exitCodeOf, type ProgramEnd } from "../program/program.ts";
import { findProgram, programPlace, readProgramUser } from "../program/program-user.ts";
import { readRestartPolicy } from "./restart-policy.ts";
import { readStartFrom } from "./start-from.ts";
import { passOn, supervise, type Running, type Supervision } from "./supervise.ts";
import { ORPHAN_POLICIES } from "../program/settle-orphans.ts";

/**
 * Input of `tidemark run -- CMD`, which puts the newest complete checkpoint in place, starts the program, and uploads its
 * checkpoints while it runs. It ends with the program's exit code, after the remaining checkpoints are uploaded.
 */
export interface RunCommand extends AgentCommand {
  program: readonly string[];
  env: Environment;
  /** Stream for the program's stdout. */
  out: Supervision["out"];
  err: Supervision["err"];
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
  if (command.program.length === 0) throw usage("run", "the program is missing: tidemark run -- python train.py");
  if (command.config.isOn("dry-run")) return lookDry(command);
  const beginning = {
    startFrom: readStartFrom(command.config.text("from"), command.config.list("watch").length),
    restoreMode: readRestoreMode(command.config.text("restore")),
  };
  // A restarted program must not inherit the worker's low priority, so the priority is only lowered if it can be raised again.
  const mayLower = policy.mostRestarts === 0 || canRestorePriority();
  const orphan: Orphan = {
    policy: ORPHAN_POLICIES.find((one) => one === command.config.text("orphan")) ?? "end",
    patienceMs: command.config.durationMs("grace"),
    awaited: null,
  };
  const user = readProgramUser(command.config.text("user"));
  if (user !== null && findProgram(command.program[0] ?? "", command.env) === null)
    throw new Fault("PROGRAM_NOT_FOUND", { op: "run", subject: command.program[0] ?? "" });
  const running: Running = { program: null, missed: null, interruptedAtMs: null };
  const sentinel = command.sharesTerminal ? startSentinel() : null;
  command.onSignal((name) => void passOn(name, { sentinel, running }));
  command.onEndAtOnce(() => orphan.policy === "end" && running.program?.descendants.kill());
  const last: { end: ProgramEnd | null; isSafe: boolean } = { end: null, isSafe: true };
  const takePlace = (place: Place) => takePlaceAlone(place, orphan, command.stopping);
  const place = (state: string) => (user === null ? null : programPlace(state, user));
  const supervision: Supervision = { ...command, policy, beginning, orphan, user, mayLower, running };
  await runAgent({ ...command, preparesRuns: true, takePlace, programPlace: place }, async (agent, life) => {
    const { end, nothingTaken } = await supervise(agent, life, supervision);
    last.end = end;
    if (end !== null && command.config.isOn("require-safe")) {
      await awaitPieces(agent, life.stopping);
      last.isSafe = await isAllSafe(agent, nothingTaken);
    }
    life.end();
  }).finally(() => sentinel?.close());
  const code = exitCodeOf(last.end ?? { code: null, signal: "SIGTERM" });
  return code === 0 && !last.isSafe ? EXIT_UNSAFE : code;
}

/** Implements --dry-run: reports what an agent would capture in the watched folders, and starts nothing. */
async function lookDry({ config, terminal }: RunCommand): Promise<number> {
  for (const watch of watchesOf(config)) for (const finding of await checkWatch(watch)) showFinding(terminal, finding);
  return 0;
}

/** Exit code with `--require-safe` when the program ended with 0, but not everything that it wrote is safe. */
const EXIT_UNSAFE = 9;
