import { spawnSync } from "node:child_process";
import { accessSync, chmodSync, constants, lstatSync, mkdirSync, readFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import type { Environment } from "../command-line/config.ts";
import type { ProgramPlace } from "../local-api/serve-local.ts";
import { usage } from "../command-line/verb.ts";

/**
 * The user of `tidemark run --user`: the program runs as another one than the worker, so that it reads neither the node's credential in
 * the state folder nor the memory of the worker. Only root can start a program as somebody else.
 */
export interface ProgramUser {
  name: string;
  uid: number;
  gid: number;
  /** Supplementary ones, its own among them. */
  groups: readonly number[];
  home: string;
  shell: string;
}

/** Names of the system's own programs; a test puts its words in their place. */
export interface Accounts {
  uid: number | undefined;
  /** A line of the user database; null where there is none. */
  lineOf(user: string): string | null;
  groupsOf(user: string): readonly number[];
  hasSetpriv: boolean;
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
  // It asks directories too; smaller systems do not have it.
  lineOf: (user) => read("getent", ["passwd", user]) ?? inFile(user),
  groupsOf: (user) => (read("id", ["-G", user]) ?? "").split(" ").filter(Boolean).map(Number),
  hasSetpriv: findProgram("setpriv", process.env) !== null,
});

/** Returns where a program is; null when it is nowhere. */
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
export function readProgramUser(wished: string | null, accounts: Accounts = systemAccounts()): ProgramUser | null {
  if (wished === null || wished === "") return null;
  const refuse = (detail: string) => usage(`--user ${wished}`, detail);
  if (accounts.uid !== 0) throw refuse("only a worker of root can start its program as another user");
  if (!accounts.hasSetpriv) throw refuse("it needs the program setpriv, which is part of util-linux");
  const [name = "", , uid = "", gid = "", , home = "", shell = ""] = (accounts.lineOf(wished) ?? "").split(":");
  if (!/^\d+$/.test(uid) || !/^\d+$/.test(gid)) throw refuse("this machine has no such user");
  if (Number(uid) === 0) throw refuse("root reads all that the worker keeps: name another user");
  const groups = [...new Set([Number(gid), ...accounts.groupsOf(name)])];
  return { name, uid: Number(uid), gid: Number(gid), groups, home, shell };
}

/** Returns the command that becomes the program, in the same process, once it is that user. */
export const asUser = ({ uid, gid, groups }: ProgramUser, command: readonly string[]): string[] => [
  "setpriv",
  `--reuid=${uid}`,
  `--regid=${gid}`,
  `--groups=${groups.join(",")}`,
  "--inh-caps=-all",
  "--",
  ...command,
];

/** Returns the variables that name the user. What names folders of the worker's own user is taken away. */
export const userVariables = ({ name, home, shell }: ProgramUser): Record<string, string | undefined> => ({
  HOME: home,
  USER: name,
  LOGNAME: name,
  ...(shell !== "" && { SHELL: shell }),
  XDG_RUNTIME_DIR: undefined,
});

/**
 * Makes a folder outside of the state folder, which the program may enter and not list: its socket and the file of its steps are there.
 * It is the same one at the next start. Returns null where there is no place for it; then the program reaches neither.
 */
export function programPlace(state: string, { uid, gid }: ProgramUser): ProgramPlace | null {
  const name = `tidemark-${createHash("sha256").update(state).digest("hex").slice(0, 16)}`;
  for (const parent of ["/run", tmpdir()]) {
    const folder = join(parent, name);
    try {
      mkdirSync(folder, { recursive: true, mode: 0o711 });
      const found = lstatSync(folder);
      // Others may write in the second place.
      if (!found.isDirectory() || found.uid !== process.getuid?.()) continue;
      chmodSync(folder, 0o711);
      return { folder, uid, gid };
    } catch {
      // The next one.
    }
  }
  return null;
}
