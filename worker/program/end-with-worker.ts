import { spawn } from "node:child_process";
import { MARK, type OtherProcess } from "./program-record.ts";

/**
 * Ends a program when its worker is gone, by a watchdog: a shell outside the worker's process group that reads a pipe which
 * only the worker holds open. However the worker ends, the pipe closes. The watchdog then sends TERM to every process that
 * has the program's mark in its environment, is in its session, or was named on the pipe, and KILL after the patience.
 * If worker and watchdog are killed together, the next start of a worker ends the program (`settle-orphans`).
 */
const SHELL = "/bin/sh";

/**
 * Script of the watchdog. Arguments: mark, patience in seconds. Lines on stdin: `session N`, `pid N`,
 * `others PID:START:SESSION...`, and `over` when there is nothing left to end. START is in kernel ticks and tells reused pids
 * apart; an empty SESSION is the worker's own.
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
kill -CONT $seen 2>/dev/null
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

/** Environment of the watchdog, without the program's mark, or the watchdog would kill itself. */
const ENVIRONMENT: Record<string, string> = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" };

export interface Watchdog {
  /** Names the program that was started. `session` null: the program is in the worker's own session. */
  watch(program: { pid: number; session: number | null }): void;
  /** Names processes that neither mark nor session identifies; replaces the list of the last call. */
  watchOthers(others: readonly OtherProcess[]): void;
  /** Ends the watchdog, because no process of the program is left. */
  over(): void;
}

/** Starts the watchdog, before the program so that it is always watched. Without a shell the watchdog does nothing. */
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

/** Tells whether a command line is that of the watchdog of a program. */
export const isWatchdogOf = (words: readonly string[], id: string): boolean =>
  words.includes("tidemark-watchdog") && words.includes(`${MARK}=${id}`);
