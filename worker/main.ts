import { once } from "node:events";
import { setFlagsFromString, startupSnapshot } from "node:v8";
import { sentenceOf, toFault, Fault } from "#protocol/faults/fault.ts";
import { FAULTS } from "#protocol/faults/fault-table.ts";
import { readNetwork, setNetwork } from "#storage/network/network.ts";
import { PRODUCT_VERSION } from "#protocol/base/version.ts";
import { parseCommandLine, type Invocation } from "./command-line/cli.ts";
import {
  type Config,
  type Environment,
  networkSettings,
  platformFacts,
  rawKeysWarning,
  resolveConfig,
  terminalWishes,
} from "./command-line/config.ts";
import { STANDALONE } from "./command-line/command-groups.ts";
import type { CommandName } from "./command-line/commands.ts";
import { fileTimes } from "./base/file-times.ts";
import { freeCompilers } from "./host/keep-heap-small.ts";
import { openInput } from "./command-line/read-input.ts";
import { nameStandaloneStore, nameStore } from "./keys/named-store.ts";
import { hideToken, takeToken } from "./program/hide-token.ts";
import { reapAsFirst } from "./program/reap-as-first.ts";
import { ERRAND_WORD } from "./engines/errand-word.ts";
import { createTerminal, visibleJson, type Streams, type Terminal } from "./command-line/terminal.ts";
import { withinMemory, withinMemoryAlways } from "./store-session/within-memory.ts";
import type { Verb } from "./command-line/verb.ts";

/**
 * The only file that prints, listens to signals and ends the process. Each command's modules are loaded when it runs:
 * what `version` or a small `cp` does not need, it does not wait for.
 */

const streams: Streams = {
  out: (text) => void process.stdout.write(text),
  talk: (text) => void process.stderr.write(text),
  // Asked for when it runs: the executable has loaded this when it was built.
  get isTty() {
    return process.stderr.isTTY;
  },
  get columns() {
    return process.stderr.columns ?? 0;
  },
};

/**
 * V8 lets the space for young objects grow to 48 MB before it looks through it. Ours stays small at the same speed. Said
 * when the modules are loaded: those of Node that come later are compiled anew, because their compiled form is for other flags.
 */
const keepYoungSmall = (): void => setFlagsFromString("--semi-space-growth-factor=1");

/** After the first signal a command has this long to put everything away. */
const GRACE_MS = 5_000;

interface Signals {
  /** Put everything away now. */
  signal: AbortSignal;
  /** A signal came; `signal` follows when the time for work is over. */
  stopping: AbortSignal;
  stoppedBy(): NodeJS.Signals | null;
}

const codeOfSignal = (name: NodeJS.Signals): number => (name === "SIGINT" ? 130 : 143);

/** What is done in the last moment of a process that ends at once; none of it waits. */
const lastActs: (() => void)[] = [];

function endAtOnce(name: NodeJS.Signals): void {
  for (const act of lastActs) act();
  process.exit(codeOfSignal(name));
}

/** `workMs`: how long it may go on working after the first signal; `graceMs`: when it is ended whatever it does. */
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
  // What runs for days may take its time to start.
  if (!(command in VERBS)) keepYoungSmall();
  const terminal = createTerminal(streams, terminalWishes(process.env, flags));
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
      // Files go from the disk to plain sockets without passing through this process.
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
      // A word that is no command is refused with the one that was meant.
      const topic = word === undefined ? null : parseCommandLine([word]).command;
      return showSettings({ topic, env: process.env, home: platformFacts(process.env).home, terminal });
    }
    case "agent":
      return runStoppable(invocation, terminal, async (verb) => {
        const { runAgent } = await import("./agent/agent.ts");
        const goodbyeMs = goodbyeWithin(verb.config.durationMs("grace"));
        warnOfEnvironment(verb);
        await withinMemoryAlways(verb.config, () =>
          runAgent({ ...verb, goodbyeMs, platform: platformFacts(process.env) }),
        );
        return 0;
      });
    case "run": {
      const sentence = hideToken(process.env, process.argv.slice(2));
      if (sentence !== null) terminal.say(sentence, { type: "note", sentence });
      reapAsFirst(process.env);
      const env = takeToken(process.env);
      return runStoppable({ ...invocation, env }, terminal, async (verb) => {
        const { runProgram } = await import("./supervise/run.ts");
        const goodbyeMs = goodbyeWithin(verb.config.durationMs("grace"));
        const platform = platformFacts(process.env);
        warnOfEnvironment(verb);
        return withinMemoryAlways(verb.config, () =>
          runProgram({
            ...verb,
            goodbyeMs,
            platform,
            program: verb.operands,
            env,
            onSignal,
            onEndAtOnce: (act) => void lastActs.push(act),
            sharesTerminal: process.stdin.isTTY,
            out: process.stdout,
            err: process.stderr,
          }),
        );
      });
    }
    case "save":
      return runStoppable(invocation, terminal, async (verb) => {
        const { saveCheckpoint } = await import("./commands/save-command.ts");
        return saveCheckpoint({ ...verb, goodbyeMs: goodbyeWithin(GRACE_MS), platform: platformFacts(process.env) });
      });
    case "restore":
      return runStoppable(invocation, terminal, async (verb) => {
        const { restoreRun } = await import("./commands/restore-command.ts");
        const platform = platformFacts(process.env);
        return withinMemory(verb.config, () => restoreRun({ ...verb, goodbyeMs: goodbyeWithin(GRACE_MS), platform }));
      });
    case "bench":
      return runStoppable(invocation, terminal, async (verb) => {
        const { benchEngines } = await import("./commands/bench-engines.ts");
        return benchEngines({ ...verb, platform: platformFacts(process.env) });
      });
    default: {
      const verb = VERBS[command];
      return runStoppable(invocation, terminal, async (input) => {
        const perform = await verb();
        keepYoungSmall();
        return withinMemory(input.config, () => perform(input));
      });
    }
  }
}

const VERBS = {
  runs: async () => (await import("./commands/runs.ts")).showRuns,
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
  inspect: async () => (await import("./commands/inspect.ts")).inspect,
  rm: async () => (await import("./commands/rm.ts")).remove,
  presign: async () => (await import("./commands/presign.ts")).presignPlace,
  probe: async () => (await import("./commands/probe.ts")).probe,
  limit: async () => (await import("./commands/limit-command.ts")).setLimitsOfMachine,
  doctor: async () => (await import("./commands/doctor/doctor.ts")).examine,
} as const;

function warnOfEnvironment({ config, terminal }: Verb): void {
  // Without a hub the keys are what the node works with.
  const keys = config.text("to") === null ? rawKeysWarning(process.env) : null;
  for (const sentence of [keys, config.unread]) {
    if (sentence !== null) terminal.say(sentence, { type: "note", sentence });
  }
}

/** All that a program may want to hear of. */
function onSignal(listener: (name: NodeJS.Signals) => void): void {
  for (const name of ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH"] as const)
    process.on(name, () => listener(name));
}

/** Of the time that is left after a signal, a part belongs to the last words. */
const goodbyeWithin = (graceMs: number): number => Math.min(2_000, graceMs / 4);
/** To put everything away, before the process is ended. */
const CLOSE_MS = 300;

/** What is in a bucket only to be measured is removed before the end. */
const CLEAN_UP_MS = 30_000;

function timesOf(command: CommandName, config: Config): { workMs: number; graceMs: number } {
  if (command === "bench") return { workMs: 0, graceMs: CLEAN_UP_MS };
  if (command !== "agent" && command !== "run") return { workMs: 0, graceMs: GRACE_MS };
  const graceMs = config.durationMs("grace");
  return { workMs: Math.max(0, graceMs - goodbyeWithin(graceMs) - CLOSE_MS), graceMs };
}

/** The place that it writes to stands in --to, and its operands are of something else. */
const isStandalone = (command: CommandName): boolean => command === "runs" || STANDALONE.some((one) => one === command);

/** Reads the settings, with those of the store that operands or --to mean by the files of other tools. @throws Fault BAD_INPUT */
function resolveStore(invocation: Invocation): { config: Config; operands: readonly string[] } {
  const { command, operands, flags } = invocation;
  const plain = resolveConfig({ env: process.env, ...invocation });
  if (isStandalone(command)) {
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

/** Runs a command that a signal may end: 130 or 143 then, whatever it was about to say. */
async function runStoppable(
  invocation: Invocation & { env?: Environment },
  terminal: Terminal,
  work: (verb: Verb & { stopping: AbortSignal }) => Promise<number>,
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
  // A program of its own has a code of its own.
  return name === null || command === "run" ? code : codeOfSignal(name);
}

/** A Tidemark that measures started this one: what it is to do comes in on stdin. */
async function serveAsEngine(): Promise<number> {
  setNetwork(readNetwork(networkSettings(process.env)));
  const { serveErrand } = await import("./engines/serve-errand.ts");
  keepYoungSmall();
  const say = (line: string) => output(Buffer.from(`${line}\n`));
  const answer = await serveErrand(process.stdin, say);
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

/** Also of a command line that cannot be read. What follows `--` is for a program. */
function isJson(args: readonly string[]): boolean {
  const own = args.includes("--") ? args.slice(0, args.indexOf("--")) : args;
  return own.includes("--json") || terminalWishes(process.env, new Map()).json;
}

async function main(): Promise<number> {
  const args = process.argv.slice(2);
  try {
    if (args[0] === ERRAND_WORD) return await serveAsEngine();
    return await run(parseCommandLine(args));
  } catch (error) {
    const fault = toFault(error);
    const data = fault.toData();
    if (isJson(args)) streams.out(`${visibleJson({ type: "fault", ...data, sentence: sentenceOf(data) })}\n`);
    else streams.talk(`tidemark: ${sentenceOf(data)}\n`);
    return FAULTS[fault.code].exit;
  }
}

async function end(): Promise<void> {
  process.exitCode = await main();
  // Whatever is still open now (a keep-alive connection, a timer) has nothing left to do.
  process.exit();
}

function start(): void {
  // Whoever read our words may leave; the work goes on without.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
  process.on("uncaughtException", (error) => {
    streams.talk(`tidemark: ${sentenceOf(toFault(error).toData())}\n`);
    process.exit(FAULTS.INTERNAL.exit);
  });
  process.on("exit", freeCompilers);
  // Should nothing be left to wait for before that, it is a mistake of ours and no success.
  process.exitCode = FAULTS.INTERNAL.exit;
  void end();
}

/**
 * The executable carries the memory of a process that has loaded what the short commands need: at a start it is read instead
 * of made again. What is loaded here must not have looked at the machine, the clock or chance yet.
 */
async function keepLoaded(): Promise<void> {
  for (const command of ["cp", "sync", "check", "ls", "cat", "rm"] as const) await VERBS[command]();
  // Node says both anew at each start; what they are here is nobody's business.
  process.argv = [];
  process.execPath = "";
  startupSnapshot.setDeserializeMainFunction(start);
}

if (startupSnapshot.isBuildingSnapshot()) void keepLoaded();
else start();
