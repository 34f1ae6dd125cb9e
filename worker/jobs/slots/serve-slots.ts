import { spawn, type ChildProcess } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { formatDuration } from "#protocol/base/units.ts";
import { readAgentOptions } from "../../agent/agent-options.ts";
import { aborted, stateOfWorker } from "../../agent/agent.ts";
import { systemClock, type Clock } from "../../base/clock.ts";
import type { Environment } from "../../base/environment.ts";
import type { Terminal } from "../../command-line/terminal.ts";
import { ownCommand } from "../../engines/own-command.ts";
import { listGpus } from "../../host/facts.ts";
import { keepHeapSmall } from "../../host/keep-heap-small.ts";
import { lockFolder, readHolder } from "../../host/lock.ts";
import { passToken } from "../../program/hide-token.ts";
import { exitCodeOf, type ProgramEnd } from "../../program/program.ts";
import type { WorkCommand } from "../work-command.ts";
import { shareGpus } from "./share-gpus.ts";
import { LIFELINE, machineOf, SLOT } from "./slot.ts";

const FIRST_REST_MS = 5_000;
const LONGEST_REST_MS = 300_000;
/** A slot that ran for so long is started again as if it had not failed before. */
const STEADY_MS = 600_000;
const LOOK_MS = 500;
/** Exit codes of faults that may be over later: an internal error, a connection, a full disk. */
const MAY_PASS: ReadonlySet<number> = new Set([1, 5, 7]);

/** Parts that the slots of one start share. */
interface Serving {
  command: Pick<WorkCommand, "terminal" | "stopping">;
  graceMs: number;
  clock: Clock;
  /** Running processes by the number of their slot. */
  running: Map<number, ChildProcess>;
}

interface Part {
  slot: number;
  /** State folder of the slot. */
  state: string;
  env: Environment;
}

/**
 * Runs each slot of this machine as a process of its own, so that none disturbs the others, and starts again what was killed.
 * Returns when no slot is left, with the exit code of the first that failed. When this process is gone, its slots stop.
 * @throws Fault BAD_INPUT, FOLDER_IN_USE
 */
export async function serveSlots(command: WorkCommand, slots: number): Promise<number> {
  const { config, terminal, env, platform } = command;
  keepHeapSmall();
  // Bad settings are refused once, and not by each slot.
  readAgentOptions(config);
  const state = await stateOfWorker(command);
  const unlock = await lockFolder(state);
  try {
    const isNamed = platform.visibleGpus !== null;
    const shares = shareGpus(await listGpus(platform.searchPath, platform.visibleGpus), { slots, isNamed });
    terminal.say(shares.sentence, { type: "note", sentence: shares.sentence });
    const { folders } = machineOf(state, slots);
    await tellLeft(terminal, { state, folders });
    const running = new Map<number, ChildProcess>();
    const tell = (name: NodeJS.Signals) => {
      for (const child of running.values()) child.kill(name);
    };
    command.onSignal(tell);
    command.onEndAtOnce(() => tell("SIGTERM"));
    const serving: Serving = { command, graceMs: config.durationMs("grace"), clock: systemClock, running };
    // One slot after the other joins the hub and measures the link.
    let turn: Promise<unknown> = Promise.resolve();
    const codes = folders.map((folder, index) => {
      const part = { slot: index + 1, state: folder, env: { ...env, ...shares.variables[index] } };
      let settle = () => {};
      const before = turn;
      turn = Promise.race([aborted(command.stopping), new Promise<void>((resolve) => (settle = resolve))]);
      return before.then(() => keepSlot(serving, part, settle)).finally(settle);
    });
    const ended = await Promise.all(codes);
    return ended.find((code) => code !== 0) ?? 0;
  } finally {
    await unlock();
  }
}

/** Runs a slot until it ends for good. Calls `settle` once it has joined the hub or ended. Returns its exit code. */
async function keepSlot(serving: Serving, part: Part, settle: () => void): Promise<number> {
  const { command, clock } = serving;
  const { terminal, stopping } = command;
  for (let failures = 0; ;) {
    await waitForHolder(serving, part.state);
    if (stopping.aborted) return 0;
    const startedAt = clock.now();
    const end = await runOnce(serving, part, settle);
    settle();
    const code = exitCodeOf(end);
    if (stopping.aborted) return code;
    const how = end.signal === null ? `with exit code ${code}` : `by ${end.signal}`;
    if (end.signal === null && !MAY_PASS.has(code)) {
      const sentence = `Slot ${part.slot} has ended ${how} and is not started again.`;
      terminal.say(sentence, { type: "note", sentence });
      return code;
    }
    failures = clock.now() - startedAt >= STEADY_MS ? 1 : failures + 1;
    const restMs = Math.min(LONGEST_REST_MS, FIRST_REST_MS * 2 ** Math.min(failures - 1, 20));
    const sentence = `Slot ${part.slot} has ended ${how}. It is started again in ${formatDuration(restMs)}.`;
    terminal.say(sentence, { type: "note", sentence });
    await clock.sleep(restMs, stopping).catch(() => undefined);
  }
}

/** Waits until the worker that an earlier start left has stopped, which takes it as long as its program has to end. */
async function waitForHolder({ command, graceMs, clock }: Serving, state: string): Promise<void> {
  const until = clock.now() + graceMs;
  while (!command.stopping.aborted && clock.now() < until) {
    if ((await readHolder(state))?.isAlive !== true) return;
    await clock.sleep(LOOK_MS, command.stopping).catch(() => undefined);
  }
}

/** Starts the process of a slot and resolves when it has ended. */
function runOnce({ running }: Serving, { slot, env }: Part, settle: () => void): Promise<ProgramEnd> {
  const [program = process.execPath, ...first] = ownCommand();
  const variables: Environment = { ...passToken(env), [SLOT]: String(slot) };
  const child = spawn(program, [...first, ...process.argv.slice(2)], {
    // The pipe closes with this process. No slot gets the signals of the terminal, which this process passes on.
    stdio: ["ignore", "inherit", "inherit", "pipe"],
    detached: true,
    env: variables as NodeJS.ProcessEnv,
  });
  running.set(slot, child);
  child.stdio[LIFELINE]?.on("error", () => undefined).once("data", settle);
  return new Promise((resolve) => {
    child.once("error", () => resolve({ code: 1, signal: null }));
    child.once("exit", (code, signal) => resolve({ code, signal }));
  }).finally(() => running.delete(slot)) as Promise<ProgramEnd>;
}

/**
 * Names folders with checkpoints of an earlier start with other slots, which no worker of this start uploads. `folders`: state
 * folders of the workers of this start.
 */
export async function tellLeft(
  terminal: Pick<Terminal, "say">,
  { state, folders }: { state: string; folders: readonly string[] },
): Promise<void> {
  const names = await readdir(state).catch(() => []);
  const others = [state, ...names.filter((name) => /^slot-\d+$/.test(name)).map((name) => join(state, name))];
  for (const folder of others) {
    if (folders.includes(folder)) continue;
    const captures = await readdir(join(folder, "captures")).catch(() => []);
    if (captures.length === 0) continue;
    const sentence = `${folder} has checkpoints of an earlier start with another number of slots, which nothing uploads now. Start with that number until they are safe.`;
    terminal.say(sentence, { type: "note", sentence });
  }
}
