import { execFileSync } from "node:child_process";

/** User without rights; every system has it. */
export const OTHER_USER = 65_534;

const isRoot = process.getuid?.() === 0;

/**
 * Runs a module text as a user whom modes of files hold, since root is held by none; when this process is not root, as its own
 * user. Returns what it prints.
 */
export function runAsOtherUser(script: string): string {
  const command = [process.execPath, "--input-type=module", "-e", script];
  const user = ["setpriv", `--reuid=${OTHER_USER}`, `--regid=${OTHER_USER}`, "--clear-groups"];
  const [name = "", ...args] = isRoot ? [...user, ...command] : command;
  return execFileSync(name, args, { encoding: "utf8" }).trim();
}
