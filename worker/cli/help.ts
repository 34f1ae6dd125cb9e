import { EXIT_CODES } from "#protocol/faults/exit-codes.ts";
import { PRODUCT_VERSION } from "#protocol/base/version.ts";
import { COMMANDS, commandSpec, isCommand, type CommandName } from "../command-line/commands.ts";
import { flagsOf, variablesOf } from "../command-line/flags.ts";
import type { FlagSpec } from "../command-line/flag-spec.ts";

const indent = (left: string, right: string, width: number) =>
  left.length > width ? `  ${left}\n  ${"".padEnd(width)}  ${right}` : `  ${left.padEnd(width)}  ${right}`;

/** Returns what `tidemark help` prints. */
export function generalHelp(): string {
  const commands = Object.entries(COMMANDS).map(([name, { says }]) => indent(name, says, 10));
  return [
    `tidemark ${PRODUCT_VERSION}: keeps the training state of this machine safe in object storage.`,
    "",
    "Commands:",
    ...commands,
    "",
    "`tidemark help COMMAND` shows the flags of a command. Every setting is also an environment variable:",
    "--part-size is TIDEMARK_PART_SIZE; secrets may be given as a file: TIDEMARK_TOKEN_FILE.",
  ].join("\n");
}

/** Returns what `tidemark help COMMAND` prints, made from the table of flags. */
export function commandHelp(command: CommandName): string {
  const { usage, says, more } = commandSpec(command);
  const lines = flagsOf(command).map(([name, spec]) => {
    const left = `${spec.short === undefined ? "" : `-${spec.short}, `}--${name}${spec.value === undefined ? "" : ` ${spec.value}`}`;
    const names = variablesOf(name, spec).join(", ");
    const set = spec.default === undefined || spec.default === "0" ? "" : ` Default: ${spec.default}.`;
    return indent(left, `${spec.says}${set}${names === "" ? "" : ` [${names}]`}`, 26);
  });
  return [usage, "", says, ...(more === undefined ? [] : [more]), "", "Flags:", ...lines].join("\n");
}

/** Returns what `tidemark help --markdown` prints: every command and flag. The text is the same on every machine. */
export function markdownReference(): string {
  const sections = Object.keys(COMMANDS).filter(isCommand).map(markdownOf);
  return [
    "# Command line",
    "",
    "Every setting is also an environment variable. The first of these that is set applies: the flag, its variable, the name",
    "that other tools use, the default. The suffix `_FILE` reads a secret from a file: `TIDEMARK_TOKEN_FILE`.",
    "",
    sections.join("\n\n"),
    "",
    "## Exit codes",
    "",
    "`tidemark run` ends with the exit code of its program if it started one. [json.md](json.md) describes the output of `--json`.",
    "",
    "| Code | Meaning |",
    "| --- | --- |",
    ...EXIT_CODES.map(({ code, says }) => `| ${code} | ${says} |`),
  ].join("\n");
}

function markdownOf(command: CommandName): string {
  const { usage, says, more } = commandSpec(command);
  const rows = flagsOf(command).map(([name, spec]) => `| ${markdownRow(name, spec).join(" | ")} |`);
  const text = more === undefined ? says : `${says} ${more}`;
  const head = [`## tidemark ${command}`, "", text, "", "```", usage, "```"];
  return [...head, "", "| Flag | Environment | Default | Meaning |", "| --- | --- | --- | --- |", ...rows].join("\n");
}

function markdownRow(name: string, spec: FlagSpec): string[] {
  const short = spec.short === undefined ? "" : `, \`-${spec.short}\``;
  const flag = `\`--${name}${spec.value === undefined ? "" : ` ${spec.value.replaceAll("|", "\\|")}`}\`${short}`;
  const variables = variablesOf(name, spec).map((variable) => `\`${variable}\``);
  const preset = spec.default === undefined ? "" : `\`${spec.default}\``;
  return [flag, variables.join(", "), preset, spec.says.replaceAll("|", "\\|")];
}
