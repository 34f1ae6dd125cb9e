import { sentenceOf } from "#protocol/faults/fault.ts";
import { FAULTS } from "#protocol/faults/fault-table.ts";
import type { Environment } from "../base/environment.ts";
import { examineSetting, shownValue, type Setting } from "../command-line/config.ts";
import { COMMANDS, isCommand, type CommandName } from "../command-line/commands.ts";
import { envName, flagEntries, flagsOf, type FlagName } from "../command-line/flags.ts";
import { findStateFolder } from "../host/state-folder.ts";
import { unknownVariablesWarning } from "../command-line/unknown-variables.ts";
import { limitsFile, NOTHING_SET, readSetLimits, type SetLimits } from "../limits/set-limits.ts";
import type { Terminal } from "../command-line/terminal.ts";
import { EXIT } from "../command-line/command-context.ts";

/**
 * Implements `tidemark config`: prints every setting of one command, or of all commands, with its value in effect and
 * its origin. Returns the exit code: that of BAD_INPUT when a value cannot be read, which is then reported beside it.
 */
export async function showSettings(about: {
  topic: CommandName | null;
  env: Environment;
  home: string | null;
  terminal: Terminal;
}): Promise<number> {
  const { topic, env, home, terminal } = about;
  const all = topic === null ? flagEntries : flagsOf(topic);
  const names = all.filter(([, { onlyFlag }]) => onlyFlag !== true).map(([name]) => name);
  const set = await limitsSet(env, home);
  let code: number = EXIT.ok;
  for (const name of names) {
    const { setting, fault } = examineSetting(topic ?? firstWith(name), name, env);
    if (fault !== null) code = FAULTS[fault.code].exit;
    const { value, source } = holds(setting, { set, topic });
    const wrong = fault === null ? [] : [`    ${sentenceOf(fault.toData())}`];
    const from = source === null ? "" : `  (${source})`;
    const text = `${envName(name).padEnd(28)} ${value}${from}`;
    terminal.result([topic === null ? text : `${topic}  ${text}`, ...wrong], {
      type: "setting",
      command: topic,
      name,
      env: envName(name),
      value,
      source,
      fault: fault?.toData() ?? null,
    });
  }
  const sentence = unknownVariablesWarning(env);
  if (sentence !== null) terminal.say(sentence, { type: "note", sentence });
  return code;
}

const firstWith = (name: FlagName): CommandName =>
  Object.keys(COMMANDS)
    .filter(isCommand)
    .find((command) => flagsOf(command).some(([own]) => own === name)) ?? "config";

interface LimitsSet extends SetLimits {
  file: string;
}

/**
 * Returns the limits that `tidemark limit` or the hub set while workers ran: they override the limits of a worker's
 * start.
 */
async function limitsSet(env: Environment, home: string | null): Promise<LimitsSet> {
  const { setting } = examineSetting("agent", "state", env);
  const state = await findStateFolder(setting.values[0] ?? null, home);
  if (state === null) return { ...NOTHING_SET, file: "" };
  return { ...(await readSetLimits(state)), file: limitsFile(state) };
}

/**
 * Returns the value in effect and its origin. Limits that were set later apply only to commands with a state folder.
 */
function holds(
  setting: Setting,
  { set, topic }: { set: LimitsSet; topic: CommandName | null },
): { value: string; source: string | null } {
  const limit = setting.name === "limit-up" ? set.up : setting.name === "limit-down" ? set.down : null;
  const follows = topic === null || flagsOf(topic).some(([name]) => name === "state");
  if (limit === null || !follows) return { value: shownValue(setting), source: setting.source };
  return { value: limit, source: set.file };
}
