import type { Completable, CompletableFlag } from "./completable.ts";
import { COMMANDS, commandSpec, isCommand } from "#worker/command-line/commands.ts";
import { flagsOf } from "#worker/command-line/flags.ts";
import type { FlagSpec } from "#worker/command-line/flag-spec.ts";
import { closest } from "#worker/command-line/suggest.ts";
import { usage } from "#worker/command-line/command-context.ts";
import { writeBash } from "./write-bash.ts";
import { writeFish } from "./write-fish.ts";
import { writeZsh } from "./write-zsh.ts";

const SHELLS = { bash: writeBash, zsh: writeZsh, fish: writeFish } as const;
const isShell = (text: string): text is keyof typeof SHELLS => Object.hasOwn(SHELLS, text);

/** Returns the script that `tidemark completion SHELL` prints. @throws Fault BAD_INPUT for an unknown shell */
export function completionScript(operands: readonly string[]): string {
  const [shell, extra] = operands;
  const shown = "tidemark completion bash, zsh or fish";
  if (shell === undefined || extra !== undefined) throw usage("completion", `it takes the name of a shell: ${shown}`);
  if (isShell(shell)) return SHELLS[shell](completables());
  const near = closest(shell, Object.keys(SHELLS));
  throw usage(shell, near === null ? `this shell is not known: ${shown}` : `did you mean ${near}? ${shown}`);
}

function completables(): Completable[] {
  return Object.keys(COMMANDS)
    .filter(isCommand)
    .map((name) => {
      const { says, operands = "free" } = commandSpec(name);
      const words = operands === "commands" ? Object.keys(COMMANDS) : operands;
      return { name, says, operands: words, flags: flagsOf(name).map(([flag, spec]) => completable(flag, spec)) };
    });
}

function completable(name: string, spec: FlagSpec): CompletableFlag {
  const { kind, short = null, says, value, words } = spec;
  const takesOne = kind !== "switch" && kind !== "share";
  const values = words ?? (value === "DIR" ? "folders" : "free");
  return {
    name,
    short,
    says,
    value: takesOne ? { shown: value ?? "VALUE", values } : null,
    repeats: kind === "list" || kind === "rules",
  };
}
