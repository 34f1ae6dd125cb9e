import { spawnSync } from "node:child_process";
import { accessSync, chmodSync, constants, lstatSync, mkdirSync, readFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import type { Environment } from "../base/environment.ts";
import type { ProgramPlace } from "../local-api/serve-local.ts";
import { usage } from "../command-line/command-context.ts";

/**
 * User of `tidemark run --user`. The program runs as another user than the worker, so that it cannot read the node's
 * credential in the state folder or the memory of the worker. Only a worker of root can do that.
 */
export interface ProgramUser {
  name: string;
  uid: number;
  gid: number;
  /** Supplementary groups, including the primary one. */
  groups: readonly number[];
  home: string;
  shell: string;
  /** Path of setpriv, found in the worker's own PATH; absolute. */
  setpriv: string;
}

/** Access to the system's user database; tests replace it. */
export interface Accounts {
  uid: number | undefined;
  /** Returns a user's line of the passwd database; null without one. */
  lineOf(user: string): string | null;
  groupsOf(user: string): readonly number[];
  /** Path of setpriv; null without it. */
  setpriv: string | null;
}

const read = (program: string, args: readonly string[]): string | null => {
  const { status, stdout } = spawnSync(program, args, { encoding: "utf8", timeout: 10_000 });
  return status === 0 ? stdout.trim() : null;
};

function inFile(user: string): string | null {
  try {
    const lines = readFileSync("/etc/passwd", "utf8").split("\n");
    return lines.find((line) => line.split(":")[0] === user || line.split(":")[2] === user) ?? null;
  } catch {
    return null;
  }
}

const systemAccounts = (): Accounts => ({
  uid: process.getuid?.(),
  // getent also asks directories such as LDAP, but minimal systems lack it.
  lineOf: (user) => read("getent", ["passwd", user]) ?? inFile(user),
  groupsOf: (user) => (read("id", ["-G", user]) ?? "").split(" ").filter(Boolean).map(Number),
  setpriv: findProgram("setpriv", process.env),
});

/** Returns the path of an executable, looked up in PATH; null when it is not found. */
export function findProgram(file: string, env: Environment): string | null {
  const places = file.includes("/") ? [file] : (env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, file));
  const isThere = (path: string): boolean => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  };
  return places.find(isThere) ?? null;
}

/**
 * Returns the user that `--user` names, by name or number; null without it.
 * @throws Fault BAD_INPUT
 */
export function readProgramUser(requested: string | null, accounts: Accounts = systemAccounts()): ProgramUser | null {
  if (requested === null || requested === "") return null;
  const refuse = (detail: string) => usage(`--user ${requested}`, detail);
  if (accounts.uid !== 0) throw refuse("only a worker of root can start its program as another user");
  if (accounts.setpriv === null) throw refuse("it needs the program setpriv, which is part of util-linux");
  const [name = "", , uid = "", gid = "", , home = "", shell = ""] = (accounts.lineOf(requested) ?? "").split(":");
  if (!/^\d+$/.test(uid) || !/^\d+$/.test(gid)) throw refuse("this machine has no such user");
  if (Number(uid) === 0) throw refuse("root reads all that the worker keeps: name another user");
  const groups = [...new Set([Number(gid), ...accounts.groupsOf(name)])];
  return { name, uid: Number(uid), gid: Number(gid), groups, home, shell, setpriv: resolve(accounts.setpriv) };
}

/** Names that mean nothing to setpriv, or that a shell does not let anybody set. */
const NEEDS_NO_DELAY = /^(?:TIDEMARK_.*|UID|EUID|PPID|SHELLOPTS|BASHOPTS)$/;
const DELAYED = "TIDEMARK_AFTER_SWITCH_";

/**
 * Returns the command that switches to the user and then executes the program in the same process, and the variables for it.
 * setpriv runs as root, so `variables`, which may come from a job (LD_PRELOAD, PATH), get their names only after the switch:
 * a shell of the user sets them. Their values do not appear in a command line, which other users can read.
 */
export function asUser(
  { uid, gid, groups, setpriv }: ProgramUser,
  program: readonly string[],
  variables: Environment = {},
): { command: string[]; env: Record<string, string> } {
  const given = Object.entries(variables).flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }]));
  const delayed = given.filter(({ name }) => !NEEDS_NO_DELAY.test(name));
  const direct = given.filter(({ name }) => NEEDS_NO_DELAY.test(name));
  const env = Object.fromEntries([
    ...direct.map(({ name, value }) => [name, value] as const),
    ...delayed.map(({ value }, at) => [`${DELAYED}${at}`, value] as const),
  ]);
  const lines = delayed.map(({ name }, at) => `export ${name}="$${DELAYED}${at}"; unset ${DELAYED}${at}`);
  const shell = delayed.length === 0 ? [] : ["/bin/sh", "-c", [...lines, 'exec "$@"'].join("\n"), "sh"];
  const flags = [`--reuid=${uid}`, `--regid=${gid}`, `--groups=${groups.join(",")}`, "--inh-caps=-all"];
  return { command: [setpriv, ...flags, "--", ...shell, ...program], env };
}

/** Returns the variables that describe the user, and unsets those with folders of the worker's user. */
export const userVariables = ({ name, home, shell }: ProgramUser): Record<string, string | undefined> => ({
  HOME: home,
  USER: name,
  LOGNAME: name,
  ...(shell !== "" && { SHELL: shell }),
  XDG_RUNTIME_DIR: undefined,
});

/**
 * Creates a folder outside of the state folder for the program's socket and step record. The program may enter but not list
 * it. The path is the same at each start. Returns null where no folder can be created; then the program has neither file.
 */
export function programPlace(state: string, { uid, gid }: ProgramUser): ProgramPlace | null {
  const name = `tidemark-${createHash("sha256").update(state).digest("hex").slice(0, 16)}`;
  for (const parent of ["/run", tmpdir()]) {
    const folder = join(parent, name);
    try {
      mkdirSync(folder, { recursive: true, mode: 0o711 });
      const found = lstatSync(folder);
      // In the temporary folder, another user may have created this path.
      if (!found.isDirectory() || found.uid !== process.getuid?.()) continue;
      chmodSync(folder, 0o711);
      return { folder, uid, gid };
    } catch {
      // Tries the next parent.
    }
  }
  return null;
}
