import type { Completable, CompletableFlag, Values } from "./completable.ts";

/** Quotes a text for the shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
/** Escapes the characters that separate the parts of an `_arguments` specification. */
const plain = (text: string): string => text.replaceAll(/[[\]:\\]/g, "\\$&");

function actionOf(values: Values): string {
  if (values === "free") return " ";
  if (values === "folders") return "_directories";
  return values === "files" ? "_files" : `(${values.join(" ")})`;
}

function specsOf({ name, short, says, value, repeats }: CompletableFlag): string[] {
  const rest = `[${plain(says)}]`;
  const after = value === null ? "" : `:${plain(value.shown)}:${actionOf(value.values)}`;
  const names = short === null ? [`--${name}`] : [`--${name}`, `-${short}`];
  const others = repeats ? "*" : short === null ? "" : `(${names.join(" ")})`;
  return names.map((one) =>
    quoted(`${others}${one}${value !== null && one.startsWith("--") ? "=" : ""}${rest}${after}`),
  );
}

function caseOf({ name, operands, flags }: Completable): string {
  // After the first word that is no flag, every word belongs to the program.
  const rest = name === "run" ? "'*::program: _normal'" : quoted(`*: :${actionOf(operands)}`);
  const specs = [...flags.flatMap(specsOf), ...(operands === "free" && name !== "run" ? [] : [rest])];
  return `        ${name})\n          _arguments -S \\\n            ${specs.join(" \\\n            ")}\n          ;;`;
}

/** Returns the completion script for zsh: a file `_tidemark` in its fpath, or read by `source`. */
export function writeZsh(commands: readonly Completable[]): string {
  const described = commands.map(({ name, says }) => `    ${quoted(`${name}:${plain(says)}`)}`);
  return `#compdef tidemark
# In ~/.zshrc, after compinit: source <(tidemark completion zsh)
_tidemark() {
  local curcontext=$curcontext state line
  local -a commands
  commands=(
${described.join("\n")}
  )
  _arguments -C '1: :->command' '*:: :->rest' && return
  case $state in
    command) _describe command commands ;;
    rest)
      case $line[1] in
${commands.map(caseOf).join("\n")}
      esac
      ;;
  esac
}
if [ "$funcstack[1]" = _tidemark ]; then
  _tidemark "$@"
else
  compdef _tidemark tidemark
fi
`;
}
