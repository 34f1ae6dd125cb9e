import { FAULTS, sentenceOf, toFault, Fault } from "#protocol/fault.ts";
import { PRODUCT_VERSION } from "#protocol/version.ts";
import { runAgent } from "./agent.ts";
import { parseCommandLine, type Invocation } from "./cli.ts";
import { platformFacts, resolveConfig, shownValue, terminalWishes } from "./config.ts";
import { copy } from "./cp.ts";
import { envName, isCommand, type CommandName } from "./flags.ts";
import { commandHelp, generalHelp, markdownReference } from "./help.ts";
import { createTerminal, type Streams, type Terminal } from "./terminal.ts";

/** The only file that prints, listens to signals and ends the process. */

const streams: Streams = {
  out: (text) => void process.stdout.write(text),
  talk: (text) => void process.stderr.write(text),
  isTty: process.stderr.isTTY,
  columns: process.stderr.columns ?? 0,
};

/** After the first signal the command has this long to put everything away. */
const GRACE_MS = 5_000;

function listenForSignals(terminal: Terminal): { signal: AbortSignal; stoppedBy: () => NodeJS.Signals | null } {
  const controller = new AbortController();
  let first: NodeJS.Signals | null = null;
  const codeOf = (name: NodeJS.Signals) => (name === "SIGINT" ? 130 : 143);
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.on(name, () => {
      if (first !== null) process.exit(codeOf(name));
      first = name;
      terminal.say("Stopping. Press again to stop at once.", { type: "stopping", signal: name });
      controller.abort(new Fault("CANCELLED"));
      setTimeout(() => process.exit(codeOf(name)), GRACE_MS).unref();
    });
  }
  return { signal: controller.signal, stoppedBy: () => first };
}

async function run(invocation: Invocation): Promise<number> {
  const { command, flags, operands } = invocation;
  const terminal = createTerminal(streams, terminalWishes(process.env, flags));
  if (flags.has("help")) {
    streams.out(`${commandHelp(command)}\n`);
    return 0;
  }
  switch (command) {
    case "help":
      streams.out(`${flags.has("markdown") ? markdownReference() : helpFor(operands[0])}\n`);
      return 0;
    case "version":
      terminal.result(PRODUCT_VERSION, { type: "version", version: PRODUCT_VERSION, node: process.version });
      return 0;
    case "config":
      showConfig(terminal, operands[0]);
      return 0;
    case "cp": {
      const { signal, stoppedBy } = listenForSignals(terminal);
      const { home } = platformFacts(process.env);
      const config = resolveConfig({ command, flags, env: process.env });
      return endingOf(stoppedBy, () => copy({ config, operands, terminal, signal, home }));
    }
    case "agent": {
      const { signal, stoppedBy } = listenForSignals(terminal);
      const platform = platformFacts(process.env);
      const config = resolveConfig({ command, flags, env: process.env });
      return endingOf(stoppedBy, () => runAgent({ config, terminal, signal, platform }));
    }
  }
}

async function endingOf(stoppedBy: () => NodeJS.Signals | null, work: () => Promise<void>): Promise<number> {
  try {
    await work();
  } catch (error) {
    if (stoppedBy() === null) throw error;
  }
  const name = stoppedBy();
  return name === null ? 0 : name === "SIGINT" ? 130 : 143;
}

function helpFor(topic: string | undefined): string {
  if (topic === undefined) return generalHelp();
  if (isCommand(topic)) return commandHelp(topic);
  return commandHelp(parseCommandLine([topic]).command);
}

function showConfig(terminal: Terminal, topic: string | undefined): void {
  const commands: CommandName[] = topic !== undefined && isCommand(topic) ? [topic] : ["agent", "cp"];
  for (const command of commands) {
    const { settings } = resolveConfig({ command, flags: new Map(), env: process.env });
    for (const setting of settings.filter(({ name }) => name !== "help")) {
      const value = shownValue(setting);
      const text = `${command}  ${envName(setting.name).padEnd(28)} ${value}  (${setting.source ?? "not set"})`;
      terminal.result(text, { command, name: setting.name, env: envName(setting.name), value, source: setting.source });
    }
  }
}

async function main(): Promise<number> {
  const args = process.argv.slice(2);
  try {
    return await run(parseCommandLine(args));
  } catch (error) {
    const fault = toFault(error);
    const data = fault.toData();
    if (args.includes("--json"))
      streams.out(`${JSON.stringify({ type: "fault", ...data, sentence: sentenceOf(data) })}\n`);
    else streams.talk(`tidemark: ${sentenceOf(data)}\n`);
    return FAULTS[fault.code].exit;
  }
}

// Whoever read our words may leave; the work goes on without.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
process.on("uncaughtException", (error) => {
  streams.talk(`tidemark: ${sentenceOf(toFault(error).toData())}\n`);
  process.exit(FAULTS.INTERNAL.exit);
});

process.exitCode = await main();
// Whatever is still open now (a keep-alive connection, a timer) has nothing left to do.
process.exit();
