import { parseArgs } from "node:util";
import { Fault } from "#protocol/faults/fault.ts";
import { HUB_COMMANDS, isHubCommand, OPTIONS, optionsOf, type HubCommandName, type OptionName } from "./commands.ts";

/** A parsed command line of the hub. */
export interface HubInvocation {
  /** Null: help on all commands. */
  command: HubCommandName | null;
  isHelp: boolean;
  values: ReadonlyMap<OptionName, string>;
  switches: ReadonlySet<OptionName>;
  operands: string[];
}

const usage = (subject: string, detail: string) => new Fault("BAD_INPUT", { op: "usage", subject, detail });

/** Parses a command line. @throws Fault BAD_INPUT, with the usage */
export function readCommand(args: readonly string[]): HubInvocation {
  const [first, ...rest] = args;
  const nothing = { values: new Map(), switches: new Set<OptionName>(), operands: [] };
  if (first === undefined || first === "help" || first === "--help" || first === "-h") {
    const about = rest[0];
    const command = about !== undefined && isHubCommand(about) ? about : null;
    return { command, isHelp: true, ...nothing };
  }
  if (!isHubCommand(first)) {
    throw usage(first, `there is no such command; there are ${Object.keys(HUB_COMMANDS).join(", ")}`);
  }
  const names = optionsOf(first);
  const options = Object.fromEntries(
    names.map((name) => [name, { type: OPTIONS[name].value === null ? ("boolean" as const) : ("string" as const) }]),
  );
  const parsed = parse(first, rest, options);
  const values = new Map<OptionName, string>();
  const switches = new Set<OptionName>();
  for (const name of names) {
    const value = parsed.values[name];
    if (typeof value === "string") values.set(name, value);
    else if (value === true) switches.add(name);
  }
  const operands = parsed.positionals;
  const { least, most } = HUB_COMMANDS[first].operands;
  const isHelp = switches.has("help");
  if (!isHelp && (operands.length < least || operands.length > most)) throw usage(first, HUB_COMMANDS[first].usage);
  return { command: first, isHelp, values, switches, operands };
}

function parse(command: string, args: readonly string[], options: Record<string, { type: "boolean" | "string" }>) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (error) {
    const said = error instanceof Error ? (error.message.split(". ")[0] ?? "") : String(error);
    throw usage(command, `${said}; \`hub ${command} --help\` lists what it takes`);
  }
}
