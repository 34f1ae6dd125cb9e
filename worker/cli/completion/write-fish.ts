import type { Completable, CompletableFlag, Values } from "./completable.ts";

const quoted = (text: string): string => `'${text.replaceAll(/['\\]/g, "\\$&")}'`;

/** Returns the options that complete a flag's value. `-x`: the flag requires a value, and no file names are offered. */
function valueOf(values: Values): string {
  if (values === "free") return " -x";
  if (values === "folders") return " -x -a '(__fish_complete_directories)'";
  return values === "files" ? " -r -F" : ` -x -a ${quoted(values.join(" "))}`;
}

const under = (command: string): string => `complete -c tidemark -n '__fish_seen_subcommand_from ${command}'`;

function flagLine(command: string, { name, short, says, value }: CompletableFlag): string {
  const names = `${short === null ? "" : ` -s ${short}`} -l ${name}`;
  return `${under(command)}${names}${value === null ? "" : valueOf(value.values)} -d ${quoted(says)}`;
}

function operandLines({ name, operands }: Completable): string[] {
  if (name === "run") return [`${under(name)} -x -a '(__fish_complete_subcommand --fcs-skip=2)'`];
  if (operands === "files") return [];
  return [`${under(name)} -f${typeof operands === "string" ? "" : ` -a ${quoted(operands.join(" "))}`}`];
}

/** Returns the completion script for fish, a file of its completions folder. */
export function writeFish(commands: readonly Completable[]): string {
  const names = commands.map(
    ({ name, says }) => `complete -c tidemark -n __fish_use_subcommand -f -a ${name} -d ${quoted(says)}`,
  );
  const rest = commands.flatMap((one) => [...operandLines(one), ...one.flags.map((flag) => flagLine(one.name, flag))]);
  return `# tidemark completion fish > ~/.config/fish/completions/tidemark.fish\n${[...names, ...rest].join("\n")}\n`;
}
