import { spawn } from "node:child_process";
import { MARK, type OtherProcess } from "./program-record.ts";

/**
 * Ends a program when its worker is gone. A shell outside the worker's process group waits for the end of a pipe that the
 * worker alone holds open; however the worker ends, the pipe does. It then sends TERM to every process that carries the
 * program's mark, is in its session, or was named to it, and KILL to those that are left when the patience is over. Two processes can be killed
 * at the same moment; then the next start of a worker ends the program (`settle-orphans`).
 */
const SHELL = "/bin/sh";

/**
 * Arguments: mark, patience in seconds. On stdin: `session N`, `pid N`, `others PID:START:SESSION...` (when they started, as the kernel counts,
 * because numbers are used again; no session: the worker's own), and `over` when there is nothing left to end.
 */
export const WATCHDOG = `mark=$1 patience=$2 pid= session= others=
while read -r word value; do
  case $word in over) exit 0 ;; pid) pid=$value ;; session) session=$value ;; others) others=$value ;; esac
done
trap '' TERM INT HUP
is_same() {
  read -r line 2>/dev/null < "/proc/$1/stat" || return 1
  start=$2
  set -- \${line##*) }
  case $1 in Z|X) return 1 ;; esac
  [ "\${20}" = "$start" ]
}
members() {
  seen=" "
  files=$(grep -lsaF "$mark" /proc/[0-9]*/environ 2>/dev/null)
  [ -n "$session" ] && files="$files $(grep -lsE "^[0-9]+ \\(.*\\) [^ZX] [0-9]+ [0-9]+ $session " /proc/[0-9]*/stat 2>/dev/null)"
  for one in $others; do
    first=\${one%%:*} one=\${one#*:}
    is_same "$first" "\${one%%:*}" && files="$files /proc/$first/stat"
    one=\${one#*:}
    [ -n "$one" ] && files="$files $(grep -lsE "^[0-9]+ \\(.*\\) [^ZX] [0-9]+ [0-9]+ $one " /proc/[0-9]*/stat 2>/dev/null)"
  done
  for file in $files; do
    one=\${file#/proc/} one=\${one%%/*}
    [ "$one" != $$ ] || continue
    case $seen in *" $one "*) ;; *) seen="$seen$one " ;; esac
  done
  [ -d /proc/self ] || { [ -n "$pid" ] && kill -0 "$pid" && seen=" $pid "; } 2>/dev/null
  [ "$seen" != " " ]
}
members || exit 0
kill -TERM $seen 2>/dev/null
while [ "$patience" -gt 0 ]; do
  sleep 1 || break
  patience=$((patience - 1))
  members || exit 0
done
tries=10
while members && [ "$tries" -gt 0 ]; do
  kill -KILL $seen 2>/dev/null
  tries=$((tries - 1))
  sleep 1 || exit 1
done`;

/** Not the program's: with its mark in it the shell would end itself. */
const ENVIRONMENT: Record<string, string> = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" };

export interface Watchdog {
  /** The program that was started. `session` null: it is in the worker's own. */
  watch(program: { pid: number; session: number | null }): void;
  /** Says which processes the mark and the session do not tell; each time all of them. */
  watchOthers(others: readonly OtherProcess[]): void;
  /** The program has ended, and nothing of it is left to end. */
  over(): void;
}

/** Starts it before the program, so that there is no moment without. Where there is no shell it does nothing. */
export function startWatchdog(id: string, patienceMs: number): Watchdog {
  const patience = String(Math.max(1, Math.ceil(patienceMs / 1_000)));
  const child = spawn(SHELL, ["-c", WATCHDOG, "tidemark-watchdog", `${MARK}=${id}`, patience], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
    env: { ...ENVIRONMENT } as NodeJS.ProcessEnv,
  });
  child.on("error", () => undefined);
  child.stdin.on("error", () => undefined);
  child.unref();
  const say = (line: string) => void child.stdin.write(`${line}\n`);
  return {
    watch: ({ pid, session }) => {
      if (session !== null) say(`session ${session}`);
      say(`pid ${pid}`);
    },
    watchOthers: (others) =>
      say(`others ${others.map(({ pid, startedAt, session }) => `${pid}:${startedAt}:${session ?? ""}`).join(" ")}`),
    over: () => {
      child.stdin.end("over\n");
    },
  };
}

/** Whether the watchdog of a program ends it already, by what runs now. */
export const isWatchdogOf = (words: readonly string[], id: string): boolean =>
  words.includes("tidemark-watchdog") && words.includes(`${MARK}=${id}`);
