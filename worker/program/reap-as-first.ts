import { existsSync } from "node:fs";
import type { Environment } from "../command-line/config.ts";
import { ownCommand } from "../engines/own-command.ts";

/**
 * In a container this is often process 1, which inherits every process whose parent has ended, and has to take their
 * ends, or they stay as zombies until the container's process table is full. Node waits for its own children only, a
 * shell for all. So as process 1 we become a shell that starts us again, passes signals on, and ends as we do.
 */
const SHELL = "/bin/sh";
const MARK = "TIDEMARK_REAPED";

/** A shell gives what it starts in the background an empty stdin; ours goes there as another number. */
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

/** Returns unless this is process 1 of a machine with a shell. */
export function reapAsFirst(env: Environment): void {
  if (process.pid !== 1 || env[MARK] !== undefined || process.execve === undefined || !existsSync(SHELL)) return;
  const own = [...ownCommand(), ...process.argv.slice(2)];
  const marked: Environment = { ...env, [MARK]: "1" };
  process.execve(SHELL, ["sh", "-c", REAPER, "tidemark", ...own], marked as NodeJS.ProcessEnv);
}
