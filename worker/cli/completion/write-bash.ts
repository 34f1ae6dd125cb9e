import type { Completable, CompletableFlag, Values } from "./completable.ts";

/** Returns the flags of a command as a user types them, separated by spaces. */
const typed = (flags: readonly CompletableFlag[]): string =>
  flags.flatMap(({ name, short }) => [`--${name}`, ...(short === null ? [] : [`-${short}`])]).join(" ");

const OF_VALUES = (values: Values): string => {
  if (values === "free") return "_tidemark_nothing";
  if (values === "folders") return `_tidemark_folders`;
  return values === "files" ? "return" : `_tidemark_words "${values.join(" ")}"`;
};

/** Returns the cases that complete a flag's value. A flag takes the same values under every command that has it. */
function valueCases(commands: readonly Completable[]): string[] {
  const actions = new Map<string, string[]>();
  for (const { name, value } of commands.flatMap(({ flags }) => flags)) {
    if (value === null) continue;
    const action = OF_VALUES(value.values);
    const names = actions.get(action) ?? [];
    if (!names.includes(`--${name}`)) actions.set(action, [...names, `--${name}`]);
  }
  return [...actions].map(([action, names]) => `    ${names.join("|")}) ${action}; return ;;`);
}

/** Returns the completion script for bash 3.2 and later. Where the script offers nothing, bash offers files (`-o default`). */
export function writeBash(commands: readonly Completable[]): string {
  const flags = commands.map((one) => `    ${one.name}) flags="${typed(one.flags)}" ;;`);
  const operands = commands
    .filter((one) => one.operands !== "files")
    .map((one) => `    ${one.name}) ${OF_VALUES(one.operands)} ;;`);
  return `# In ~/.bashrc: source <(tidemark completion bash)
_tidemark_words() {
  COMPREPLY=($(compgen -W "$1" -- "$word"))
  [ \${#COMPREPLY[@]} -gt 0 ] || _tidemark_nothing
}
_tidemark_folders() {
  local IFS=$'\\n'
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen -d -- "$word"))
}
_tidemark_nothing() {
  compopt +o default 2>/dev/null
}
_tidemark() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} command=\${COMP_WORDS[1]} flags="" at
  COMPREPLY=()
  # --flag=value is three words here.
  if [ "$word" = "=" ]; then
    word=""
  elif [ "$before" = "=" ]; then
    before=\${COMP_WORDS[COMP_CWORD-2]}
  fi
  if [ "$COMP_CWORD" -eq 1 ]; then
    _tidemark_words "${commands.map(({ name }) => name).join(" ")}"
    return
  fi
  # What follows belongs to the program.
  for ((at = 2; at < COMP_CWORD; at++)); do
    [ "\${COMP_WORDS[at]}" = "--" ] && return
  done
  case $before in
${valueCases(commands).join("\n")}
  esac
  case $command in
${flags.join("\n")}
  esac
  case $word in
    -*) _tidemark_words "$flags"; return ;;
  esac
  case $command in
${operands.join("\n")}
  esac
}
complete -o default -F _tidemark tidemark
`;
}
