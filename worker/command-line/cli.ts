import { Fault } from "#protocol/faults/fault.ts";
import { COMMANDS, commandSpec, isCommand, type CommandName } from "./commands.ts";
import { FLAGS, flagsOf, type FlagName } from "./flags.ts";
import type { FlagSpec } from "./flag-spec.ts";
import { closest } from "./suggest.ts";

/** A parsed command line. Values are still text; `config.ts` reads them. */
export interface Invocation {
  command: CommandName;
  flags: Map<FlagName, string[]>;
  operands: string[];
  /** --include and --exclude in the order given. */
  rules: Rule[];
}

/** One --include (`takes`) or --exclude. */
export interface Rule {
  takes: boolean;
  glob: string;
}

const usage = (subject: string, detail: string) => new Fault("BAD_INPUT", { op: "usage", subject, detail });

/**
 * Reads `--flag value`, `--flag=value`, switches, and `--` before operands.
 * @throws Fault BAD_INPUT with a suggestion for unknown commands and flags.
 */
export function parseCommandLine(args: readonly string[]): Invocation {
  const [first, ...rest] = args;
  if (first === undefined) return { command: "help", flags: new Map(), operands: [], rules: [] };
  if (first === "--help" || first === "-h") return { command: "help", flags: new Map(), operands: [], rules: [] };
  if (first === "--version" || first === "-V") return { command: "version", flags: new Map(), operands: [], rules: [] };
  if (!isCommand(first)) {
    if (isOwnFlag(first)) throw flagBeforeCommand(first, rest);
    const near = closest(first, Object.keys(COMMANDS));
    throw usage(
      first,
      near === null
        ? "there is no such command; `tidemark help` lists them"
        : `there is no such command; did you mean ${near}?`,
    );
  }
  return parseRest(first, rest);
}

function parseRest(command: CommandName, args: readonly string[]): Invocation {
  const known = new Map<string, FlagSpec>(flagsOf(command));
  const flags = new Map<FlagName, string[]>();
  const operands: string[] = [];
  const rules: Rule[] = [];
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? "";
    if (arg === "--") {
      // `jobs submit` has to tell a command from the name of a file.
      operands.push(...args.slice(command === "jobs" ? at : at + 1));
      break;
    }
    if (arg === "-h") {
      flags.set("help", ["true"]);
      continue;
    }
    if (!arg.startsWith("-") || arg === "-") {
      // The first operand of `run` is the program; every word after it belongs to the program.
      if (command === "run") {
        operands.push(...args.slice(at));
        break;
      }
      operands.push(arg);
      continue;
    }
    const equals = arg.indexOf("=");
    const given = arg.slice(arg.startsWith("--") ? 2 : 1, equals < 0 ? undefined : equals);
    const isShort = !arg.startsWith("--") && given.length === 1;
    const meant = flagsOf(command).find(([, { short, alias }]) => (isShort ? short : alias) === given);
    const name = meant?.[0] ?? given;
    const spec = known.get(name);
    if ((!isShort && !arg.startsWith("--")) || spec === undefined || !isFlag(name))
      throw unknownFlag(command, isShort ? `-${name}` : `--${name}`);
    let value = equals < 0 ? null : arg.slice(equals + 1);
    if (spec.kind === "switch") value ??= "true";
    else if (spec.kind === "share" && value === null) {
      // The share may be left out: `--household`, `--household 20%`.
      if (/^\d+%$/.test(args[at + 1] ?? "")) value = args[++at] ?? "";
      else value = "true";
    } else if (value === null) {
      value = args[++at] ?? null;
      if (value === null || isOwnFlag(value)) {
        throw usage(`--${name}`, `it needs a value: --${name} ${spec.value ?? "VALUE"}`);
      }
    }
    // An empty value usually comes from an unset shell variable; taken as a folder it would mean the current one.
    if (value === "") throw usage(`--${name}`, "its value is empty; is a variable in it not set?");
    const earlier = flags.get(name);
    if (earlier !== undefined && spec.kind !== "list" && spec.kind !== "rules")
      throw usage(`--${name}`, "it was given twice");
    flags.set(name, [...(earlier ?? []), value]);
    if (spec.kind === "rules") rules.push({ takes: name === "include", glob: value });
  }
  const { most, usage: shown } = commandSpec(command);
  const extra = most === undefined ? undefined : operands[most];
  if (extra !== undefined) throw usage(extra, `${command} takes ${most === 0 ? "flags only" : "one word"}: ${shown}`);
  return { command, flags, operands, rules };
}

/** Tells whether a word is a flag, which cannot be the value of the flag before it. `--watch=--token` still means that folder. */
const isOwnFlag = (word: string): boolean =>
  word === "--" || (word.startsWith("--") && isFlag(word.slice(2).split("=", 1)[0] ?? ""));

function flagBeforeCommand(first: string, rest: readonly string[]): Fault {
  const command = rest.find(isCommand);
  return usage(first, `flags come after the command: tidemark ${command ?? "COMMAND"} ${first}`);
}

const isFlag = (name: string): name is FlagName => Object.hasOwn(FLAGS, name);

function unknownFlag(command: CommandName, given: string): Fault {
  const own = flagsOf(command).map(([flag]) => flag);
  const near = closest(given.replace(/^--?/, ""), own);
  if (near !== null) return usage(given, `${command} has no such flag; did you mean --${near}?`);
  return usage(given, `${command} has no such flag; \`tidemark help ${command}\` lists them`);
}
