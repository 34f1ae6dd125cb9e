import { PRODUCT_VERSION } from "#protocol/version.ts";
import { COMMANDS, envName, flagsOf, type CommandName } from "./flags.ts";

const indent = (left: string, right: string, width: number) =>
  left.length > width ? `  ${left}\n  ${"".padEnd(width)}  ${right}` : `  ${left.padEnd(width)}  ${right}`;

/** What `tidemark help` prints. */
export function generalHelp(): string {
  const commands = Object.entries(COMMANDS).map(([name, { says }]) => indent(name, says, 10));
  return [
    `tidemark ${PRODUCT_VERSION}: keeps the training state of this machine safe in object storage.`,
    "",
    "Commands:",
    ...commands,
    "",
    "`tidemark help COMMAND` shows the flags of a command. Every flag is also an environment variable:",
    "--part-size is TIDEMARK_PART_SIZE; secrets may be given as a file: TIDEMARK_TOKEN_FILE.",
  ].join("\n");
}

/** What `tidemark help COMMAND` prints: made from the table of flags. */
export function commandHelp(command: CommandName): string {
  const { usage, says } = COMMANDS[command];
  const lines = flagsOf(command).map(([name, spec]) => {
    const left = `--${name}${spec.value === undefined ? "" : ` ${spec.value}`}`;
    const names = [envName(name), ...(spec.alsoEnv ?? [])].join(", ");
    const set = spec.default === undefined || spec.default === "0" ? "" : ` Default: ${spec.default}.`;
    return indent(left, `${spec.says}${set} [${names}]`, 26);
  });
  return [usage, "", says, "", "Flags:", ...lines].join("\n");
}
