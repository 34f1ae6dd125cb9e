import { existsSync } from "node:fs";
import type { Environment } from "../base/environment.ts";
import { ownCommand } from "../engines/own-command.ts";

/**
 * Replaces this process by a shell if it is process 1 of a container. Process 1 inherits all orphaned processes and has to
 * reap them, or zombies fill the process table. Node waits only for its own children, a shell for all. The shell starts this
 * program again, passes signals on, and ends with its exit code.
 */
const SHELL = "/bin/sh";
const MARK = "TIDEMARK_REAPED";

/** Script of the shell. A background command gets an empty stdin from the shell, so stdin is passed as descriptor 3. */
export const REAPER = `exec 3<&0
"$@" <&3 3<&- &
child=$!
exec 3<&-
for name in TERM HUP INT QUIT USR1 USR2; do trap "kill -$name $child 2>/dev/null" $name; done
while :; do
  wait $child
  code=$?
  kill -0 $child 2>/dev/null || exit $code
done`;

/** Becomes the reaping shell if this is process 1 and there is a shell; otherwise returns. */
export function reapAsFirst(env: Environment): void {
  if (process.pid !== 1 || env[MARK] !== undefined || process.execve === undefined || !existsSync(SHELL)) return;
  const own = [...ownCommand(), ...process.argv.slice(2)];
  const marked: Environment = { ...env, [MARK]: "1" };
  process.execve(SHELL, ["sh", "-c", REAPER, "tidemark", ...own], marked as NodeJS.ProcessEnv);
}
