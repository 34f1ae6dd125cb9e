import { once } from "node:events";
import { setFlagsFromString, startupSnapshot } from "node:v8";
import { sentenceOf, toFault, Fault } from "#protocol/faults/fault.ts";
import { FAULTS } from "#protocol/faults/fault-table.ts";
import { readNetwork, setNetwork } from "#storage/network/network.ts";
import { PRODUCT_VERSION } from "#protocol/base/version.ts";
import { mayNameRun } from "./command-line/address.ts";
import { parseCommandLine, type Invocation } from "./command-line/cli.ts";
import type { Environment } from "./base/environment.ts";
import { type Config, networkSettings, platformFacts, resolveConfig, terminalOptions } from "./command-line/config.ts";
import { rawKeysWarning } from "./command-line/key-facts.ts";
import { JOINING, READS_BUCKET, STANDALONE } from "./command-line/command-groups.ts";
import type { CommandName } from "./command-line/commands.ts";
import { lostFolderFault } from "./base/disk-fault.ts";
import { fileTimes } from "./base/file-times.ts";
import { freeCompilers } from "./host/keep-heap-small.ts";
import { openInput } from "./command-line/read-input.ts";
import { nameStandaloneStore, nameStore } from "./keys/named-store.ts";
import { hideToken, takeToken } from "./program/hide-token.ts";
import { reapAsFirst } from "./program/reap-as-first.ts";
import { ENGINE_COMMAND } from "./engines/engine-command.ts";
import { createTerminal, visibleJson, type Streams, type Terminal } from "./command-line/terminal.ts";
import { withinMemory, withinMemoryAlways } from "./store-session/within-memory.ts";
import type { CommandContext } from "./command-line/command-context.ts";

/**
 * Entry point, and the only file that prints, listens to signals and ends the process. A command's modules are imported when
 * it runs, so that `version` or a small `cp` does not wait for modules that it does not need.
 */

const streams: Streams = {
  out: (text) => void process.stdout.write(text),
  talk: (text) => void process.stderr.write(text),
  // Getters, because the executable evaluates this module when it is built.
  get isTty() {
    return process.stderr.isTTY;
  },
  get columns() {
    return process.stderr.columns ?? 0;
  },
  get rows() {
    return process.stderr.rows ?? 0;
  },
};

/**
 * Keeps V8's young generation from growing, which by default reaches 48 MB; the speed stays the same. Call it after modules
 * are loaded: changed flags invalidate the code cache of Node's own modules, so later ones would be compiled from source.
 */
const keepYoungSmall = (): void => setFlagsFromString("--semi-space-growth-factor=1");

/** Time for a command to clean up after the first signal. */
const GRACE_MS = 5_000;

interface Signals {
  /** Fires when the command must stop working and clean up. */
  signal: AbortSignal;
  /** Fires at the first signal of the system; `signal` follows when the time for work is over. */
  stopping: AbortSignal;
  stoppedBy(): NodeJS.Signals | null;
}

const codeOfSignal = (name: NodeJS.Signals): number => (name === "SIGINT" ? 130 : 143);

/** Synchronous actions to run when the process exits immediately. */
const lastActs: (() => void)[] = [];

function endAtOnce(name: NodeJS.Signals): void {
  for (const act of lastActs) act();
  process.exit(codeOfSignal(name));
}

/** Listens for signals. `workMs`: time to go on working after the first; `graceMs`: time after which the process exits. */
function listenForSignals(terminal: Terminal, times: { workMs: number; graceMs: number }): Signals {
  const controller = new AbortController();
  const stopping = new AbortController();
  let first: NodeJS.Signals | null = null;
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.on(name, () => {
      if (first !== null) endAtOnce(name);
      first = name;
      terminal.say("Stopping. Press again to stop at once.", { type: "stopping", signal: name });
      stopping.abort(new Fault("CANCELLED"));
      const end = () => controller.abort(new Fault("CANCELLED"));
      if (times.workMs > 0) setTimeout(end, times.workMs).unref();
      else end();
      setTimeout(endAtOnce, times.graceMs, name).unref();
    });
  }
  return { signal: controller.signal, stopping: stopping.signal, stoppedBy: () => first };
}

async function run(invocation: Invocation): Promise<number> {
  const { command, flags, operands } = invocation;
  // Commands in COMMANDS set the flag after their modules are loaded, see below; the others need not start as fast.
  if (!(command in COMMANDS)) keepYoungSmall();
  const terminal = createTerminal(streams, terminalOptions(process.env, flags));
  if (flags.has("help")) {
    const { commandHelp } = await import("./cli/help.ts");
    streams.out(`${commandHelp(command)}\n`);
    return 0;
  }
  switch (command) {
    case "help":
      streams.out(`${await helpFor(invocation)}\n`);
      return 0;
    case "version": {
      const { systemCalls } = await import("./base/system-calls.ts");
      const { nativeSum } = await import("./base/sum-bytes.ts");
      // Whether the kernel can send files to plain sockets without copying them through this process.
      const sendsStraight = systemCalls() !== null;
      const sumsFast = nativeSum() !== null;
      const { version: node } = process;
      terminal.result(PRODUCT_VERSION, { type: "version", version: PRODUCT_VERSION, node, sendsStraight, sumsFast });
      return 0;
    }
    case "completion": {
      const { completionScript } = await import("./cli/completion/completion.ts");
      streams.out(completionScript(operands));
      return 0;
    }
    case "config": {
      const { showSettings } = await import("./commands/config.ts");
      const [word] = operands;
      // parseCommandLine refuses an unknown command with a suggestion.
      const topic = word === undefined ? null : parseCommandLine([word]).command;
      return showSettings({ topic, env: process.env, home: platformFacts(process.env).home, terminal });
    }
    case "agent":
      return runStoppable(invocation, terminal, async (context) => {
        const { runAgent } = await import("./agent/agent.ts");
        const goodbyeMs = goodbyeWithin(context.config.durationMs("grace"));
        warnOfEnvironment(context);
        await withinMemoryAlways(context.config, () =>
          runAgent({ ...context, goodbyeMs, platform: platformFacts(process.env) }),
        );
        return 0;
      });
    case "work":
    case "run": {
      const sentence = hideToken(process.env, process.argv.slice(2));
      if (sentence !== null) terminal.say(sentence, { type: "note", sentence });
      reapAsFirst(process.env);
      const env = takeToken(process.env);
      return runStoppable({ ...invocation, env }, terminal, async (context) => {
        const goodbyeMs = goodbyeWithin(context.config.durationMs("grace"));
        const platform = platformFacts(process.env);
        const { stdout: out, stderr: err } = process;
        const onEndAtOnce = (act: () => void) => void lastActs.push(act);
        const beside = { ...context, goodbyeMs, platform, env, onSignal, onEndAtOnce, out, err };
        warnOfEnvironment(context);
        if (command === "work") {
          const { work } = await import("./jobs/work.ts");
          return work(beside);
        }
        const { runProgram } = await import("./supervise/run.ts");
        const { operands: program } = context;
        const sharesTerminal = process.stdin.isTTY;
        return withinMemoryAlways(context.config, () => runProgram({ ...beside, program, sharesTerminal }));
      });
    }
    case "save":
      return runStoppable(invocation, terminal, async (context) => {
        const { saveCheckpoint } = await import("./commands/save-command.ts");
        return saveCheckpoint({ ...context, goodbyeMs: goodbyeWithin(GRACE_MS), platform: platformFacts(process.env) });
      });
    case "restore":
      return runStoppable(invocation, terminal, async (context) => {
        const { restoreRun } = await import("./commands/restore-command.ts");
        const platform = platformFacts(process.env);
        return withinMemory(context.config, () =>
          restoreRun({ ...context, goodbyeMs: goodbyeWithin(GRACE_MS), platform }),
        );
      });
    case "bench":
      return runStoppable(invocation, terminal, async (context) => {
        const { benchEngines } = await import("./commands/bench-engines.ts");
        return benchEngines({ ...context, platform: platformFacts(process.env) });
      });
    default: {
      const context = COMMANDS[command];
      return runStoppable(invocation, terminal, async (input) => {
        const perform = await context();
        keepYoungSmall();
        return withinMemory(input.config, () => perform(input));
      });
    }
  }
}

const COMMANDS = {
  compare: async () => (await import("./commands/compare.ts")).compareStored,
  keygen: async () => (await import("./commands/keygen.ts")).makeKey,
  runs: async () => (await import("./commands/runs.ts")).showRuns,
  jobs: async () => {
    const { manageJobs } = await import("./commands/jobs/jobs.ts");
    return (context: CommandContext) => manageJobs(context, process.env);
  },
  pause: async () => (await import("./commands/steer-command.ts")).steerUploads("pause"),
  resume: async () => (await import("./commands/steer-command.ts")).steerUploads("resume"),
  retry: async () => (await import("./commands/steer-command.ts")).steerUploads("retry"),
  cancel: async () => (await import("./commands/steer-command.ts")).steerUploads("cancel"),
  status: async () => (await import("./commands/status-command.ts")).showStatus,
  cp: async () => (await import("./commands/cp.ts")).copy,
  sync: async () => (await import("./commands/sync.ts")).sync,
  check: async () => (await import("./commands/check.ts")).check,
  ls: async () => (await import("./commands/ls.ts")).list,
  cat: async () => (await import("./commands/cat.ts")).cat,
  inspect: async () => (await import("./commands/inspect/inspect.ts")).inspect,
  rm: async () => (await import("./commands/rm.ts")).remove,
  presign: async () => (await import("./commands/presign.ts")).presignPlace,
  probe: async () => (await import("./commands/probe.ts")).probe,
  limit: async () => (await import("./commands/limit-command.ts")).setLimitsOfMachine,
  doctor: async () => (await import("./commands/doctor/doctor.ts")).examine,
} as const;

function warnOfEnvironment({ config, terminal }: CommandContext): void {
  // With --to the node itself needs the keys, so they are no reason for a warning.
  const keys = config.text("to") === null ? rawKeysWarning(process.env) : null;
  for (const sentence of [keys, config.unread]) {
    if (sentence !== null) terminal.say(sentence, { type: "note", sentence });
  }
}

/** Calls `listener` for all signals that are passed on to a program. */
function onSignal(listener: (name: NodeJS.Signals) => void): void {
  for (const name of ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH"] as const)
    process.on(name, () => listener(name));
}

/** Returns the part of the grace period that is reserved for the final report to the hub. */
const goodbyeWithin = (graceMs: number): number => Math.min(2_000, graceMs / 4);
/** Time reserved for closing everything before the process exits. */
const CLOSE_MS = 300;

/** Grace period of `bench`, which removes its objects from the bucket. */
const CLEAN_UP_MS = 30_000;

function timesOf(command: CommandName, config: Config): { workMs: number; graceMs: number } {
  if (command === "bench") return { workMs: 0, graceMs: CLEAN_UP_MS };
  if (JOINING.every((one) => one !== command)) return { workMs: 0, graceMs: GRACE_MS };
  const graceMs = config.durationMs("grace");
  return { workMs: Math.max(0, graceMs - goodbyeWithin(graceMs) - CLOSE_MS), graceMs };
}

/** Tells whether a command names its store by --to and not by operands. */
function isStandalone({ command, operands }: Invocation, config: Config): boolean {
  if (command === "inspect") return config.text("to") !== null && operands.slice(0, 1).some(mayNameRun);
  return [...STANDALONE, ...READS_BUCKET].some((one) => one === command);
}

/** Resolves the settings, including those of an AWS profile or rclone remote that the command names. @throws Fault BAD_INPUT */
function resolveStore(invocation: Invocation): { config: Config; operands: readonly string[] } {
  const { command, operands, flags } = invocation;
  const plain = resolveConfig({ env: process.env, ...invocation });
  if (isStandalone(invocation, plain)) {
    const named = nameStandaloneStore(plain, command);
    if (named === null) return { config: plain, operands };
    const { to, layers, keysFrom } = named;
    const placed = new Map([...flags, ["to", [to]] as const]);
    return { config: resolveConfig({ env: process.env, ...invocation, flags: placed, layers, keysFrom }), operands };
  }
  const named = nameStore(plain, invocation);
  if (named === null) return { config: plain, operands };
  return { config: resolveConfig({ env: process.env, ...invocation, ...named }), operands: named.operands };
}

/** Runs a command that signals may stop. Returns its exit code, or 130 or 143 after a signal. */
async function runStoppable(
  invocation: Invocation & { env?: Environment },
  terminal: Terminal,
  work: (context: CommandContext & { stopping: AbortSignal }) => Promise<number>,
): Promise<number> {
  const { command } = invocation;
  const { config, operands } = resolveStore(invocation);
  setNetwork(readNetwork(networkSettings(process.env, config)));
  if (config.isOn("unsteady-times")) fileTimes.expectWobble();
  const { signal, stopping, stoppedBy } = listenForSignals(terminal, timesOf(command, config));
  let code: number = command === "run" ? codeOfSignal("SIGTERM") : 0;
  try {
    const { home } = platformFacts(process.env);
    code = await work({ config, operands, terminal, signal, stopping, home, output, input: () => openInput(0) });
  } catch (error) {
    if (stoppedBy() === null) throw error;
  }
  const name = stoppedBy();
  // `run` ends with the exit code of its program.
  return name === null || command === "run" ? code : codeOfSignal(name);
}

/** Serves a `tidemark bench` process, which started this one and writes its request to stdin. */
async function serveAsEngine(): Promise<number> {
  setNetwork(readNetwork(networkSettings(process.env)));
  const { serveEngineRequest } = await import("./engines/serve-engine-request.ts");
  keepYoungSmall();
  const say = (line: string) => output(Buffer.from(`${line}\n`));
  const answer = await serveEngineRequest(process.stdin, say);
  await say(JSON.stringify(answer));
  return answer.fault === null ? 0 : FAULTS[answer.fault.code].exit;
}

async function output(chunk: Buffer): Promise<void> {
  if (process.stdout.errored !== null || process.stdout.destroyed) {
    throw new Fault("WRITE_FAILED", { op: "write", subject: "stdout", detail: "its reader has left" });
  }
  if (!process.stdout.write(chunk)) await once(process.stdout, "drain").catch(() => undefined);
}

async function helpFor({ flags, operands }: Invocation): Promise<string> {
  const { commandHelp, generalHelp, markdownReference } = await import("./cli/help.ts");
  if (flags.has("markdown")) return markdownReference();
  const [topic] = operands;
  if (topic === undefined) return generalHelp();
  return commandHelp(parseCommandLine([topic]).command);
}

/** Tells whether output is JSON, even for an invalid command line. Arguments after `--` are the program's. */
function isJson(args: readonly string[]): boolean {
  const own = args.includes("--") ? args.slice(0, args.indexOf("--")) : args;
  return own.includes("--json") || terminalOptions(process.env, new Map()).json;
}

async function main(): Promise<number> {
  const args = process.argv.slice(2);
  try {
    if (args[0] === ENGINE_COMMAND) return await serveAsEngine();
    return await run(parseCommandLine(args));
  } catch (error) {
    const fault = lostFolderFault(error) ?? toFault(error);
    const data = fault.toData();
    if (isJson(args)) streams.out(`${visibleJson({ type: "fault", ...data, sentence: sentenceOf(data) })}\n`);
    else streams.talk(`tidemark: ${sentenceOf(data)}\n`);
    return FAULTS[fault.code].exit;
  }
}

/** Waits until the reader of a stream has all that was written. A reader that leaves ends the wait, and so does a signal. */
async function drain(stream: NodeJS.WriteStream): Promise<void> {
  if (stream.writableLength === 0 || stream.destroyed || stream.errored !== null) return;
  await new Promise<unknown>((resolve) => {
    stream.once("error", resolve).once("close", resolve);
    stream.write("", resolve);
  });
}

async function end(): Promise<void> {
  process.exitCode = await main();
  // A pipe takes 64 KiB at once; what waits behind them is lost when the process exits.
  await Promise.all([drain(process.stdout), drain(process.stderr)]);
  // Anything still open (a keep-alive connection, a timer) has nothing left to do.
  process.exit();
}

function start(): void {
  // EPIPE is ignored: the work goes on when the reader of the output is gone.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
  process.on("uncaughtException", (error) => {
    streams.talk(`tidemark: ${sentenceOf(toFault(error).toData())}\n`);
    process.exit(FAULTS.INTERNAL.exit);
  });
  process.on("exit", freeCompilers);
  // If the event loop runs empty before main() has ended, that is a bug and must not look like success.
  process.exitCode = FAULTS.INTERNAL.exit;
  void end();
}

/**
 * Loads the modules of short commands into the startup snapshot of the executable, whose heap is read at a start instead of
 * being built again. These modules must not read machine state, clock or random numbers when they are loaded.
 */
async function keepLoaded(): Promise<void> {
  for (const command of ["cp", "sync", "check", "ls", "cat", "rm"] as const) await COMMANDS[command]();
  // Node sets both again at each start; values of the build must not be in the snapshot.
  process.argv = [];
  process.execPath = "";
  startupSnapshot.setDeserializeMainFunction(start);
}

if (startupSnapshot.isBuildingSnapshot()) void keepLoaded();
else start();
