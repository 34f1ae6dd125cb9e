import { spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { Socket } from "node:net";
import { takeSecrets } from "./platform/take-secrets.ts";

/**
 * Starts Tidemark: the signer, which holds the master key, and the hub, which never sees it, with one pipe between them. Both
 * end when this process does, for whatever reason; when one of them ends, so does the other. Each gets its secrets over a pipe.
 * No process keeps them in its environment, not even in the copy of it that the kernel shows to other processes.
 */

const HERE = import.meta.dirname;
/** A hub that has not stopped by itself after this time is killed. */
const LAST_CALL_MS = 6_000;
/** One stop may arrive as several signals: from the terminal or a supervisor, and from each parent that forwards it. */
const SAME_STOP_MS = 1_000;

/**
 * By default V8 keeps much unused memory on a machine that has plenty: 590 MB with 3,000 nodes, of which 304 MB were in use.
 * The hub should leave room for other programs, so its heap grows by 40 % before it is collected.
 */
const HUB_FLAGS = ["--heap-growing-percent=40", "--max-semi-space-size=8"];

/** Secrets that only the signer gets: the master key, and the key that it replaces. */
const SIGNER_SECRETS = ["TIDEMARK_SECRET", "TIDEMARK_SECRET_PREVIOUS"];
/** Secrets that only the hub gets. */
const HUB_SECRETS = [
  "TIDEMARK_ADMIN_PASSWORD",
  "TIDEMARK_METRICS_TOKEN",
  "TIDEMARK_DATABASE_URL",
  "TIDEMARK_DATABASE_DIRECT_URL",
];

// A port given as an argument would be ignored silently.
if (process.argv.length > 2) {
  process.stderr.write(
    `The hub takes no arguments (${process.argv[2]}). It is set by variables, such as TIDEMARK_PORT and TIDEMARK_DATA.\n`,
  );
  process.exit(2);
}

// Comes before anything else, because other processes of the same user can read the environment this process started with.
const { values: secrets, isHidden } = takeSecrets([...SIGNER_SECRETS, ...HUB_SECRETS]);
if (!isHidden) {
  process.stderr.write(
    "This system shows what a process was started with to others of its user, and lets nobody change that: give secrets as files (TIDEMARK_SECRET_FILE).\n",
  );
}

const only = (names: readonly string[]): Record<string, string> =>
  Object.fromEntries(Object.entries(secrets).filter(([name]) => names.includes(name)));

const signerVariables = (): NodeJS.ProcessEnv => {
  const kept: NodeJS.ProcessEnv = { NODE_ENV: "production" };
  for (const name of ["PATH", "TZ", "TIDEMARK_DATA", ...SIGNER_SECRETS.map((secret) => `${secret}_FILE`)]) {
    const value = process.env[name];
    if (value !== undefined) kept[name] = value;
  }
  return kept;
};

const hubVariables = (): NodeJS.ProcessEnv => {
  const kept: NodeJS.ProcessEnv = {
    ...process.env,
    NODE_ENV: process.env["NODE_ENV"] ?? "production",
    // The page renderer would otherwise read `.env` files by itself, and with them a master key that is kept there.
    __NEXT_PROCESSED_ENV: "true",
  };
  for (const name of SIGNER_SECRETS) delete kept[`${name}_FILE`];
  return kept;
};

interface Owners {
  signer: { uid?: number; gid?: number };
  hub: { uid?: number; gid?: number };
}

/** Reads the users of the two processes, 1001 or 1001:1001, which only root can set. Throws an Error with one sentence. */
function readOwners(): Owners {
  const [signer, hub] = ["TIDEMARK_KEEPER_UID", "TIDEMARK_HUB_UID"].map((name) => {
    const text = process.env[name] ?? "";
    if (text === "") return null;
    const [, uid, gid = uid] = /^([1-9]\d{0,9})(?::([1-9]\d{0,9}))?$/.exec(text) ?? [];
    if (uid === undefined) throw new Error(`${name}: it is the number of a user, 1001 or 1001:1001, and not root`);
    return { uid: Number(uid), gid: Number(gid) };
  });
  if (signer === null && hub === null) return { signer: {}, hub: {} };
  if (!signer || !hub || signer.uid === hub.uid) {
    throw new Error("TIDEMARK_KEEPER_UID and TIDEMARK_HUB_UID are set together, to two users");
  }
  if (process.getuid?.() !== 0) {
    throw new Error("TIDEMARK_KEEPER_UID and TIDEMARK_HUB_UID need a start as root: nobody else may choose users");
  }
  return { signer, hub };
}

function ownersOrEnd(): Owners {
  try {
    return readOwners();
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(2);
  }
}
const owners = ownersOrEnd();

const signer = spawn(process.execPath, [join(HERE, "signer/main.ts")], {
  ...owners.signer,
  env: signerVariables(),
  stdio: ["ignore", "inherit", "inherit", "pipe", "ipc"],
});
const pipe = signer.stdio[3];
if (!(pipe instanceof Socket)) throw new Error("the signer has no pipe");
const hub = spawn(process.execPath, [...HUB_FLAGS, join(HERE, "http/main.ts")], {
  ...owners.hub,
  env: hubVariables(),
  stdio: ["ignore", "inherit", "inherit", pipe, "ipc"],
});
// The hub process owns this end now.
pipe.destroy();
// Secrets go over the IPC channel of each process, never through its environment. Errors are ignored here: the exit handlers
// below report a process that ended at once.
const sent = (): void => undefined;
signer.send({ secrets: only(SIGNER_SECRETS) }, sent);
hub.send({ secrets: only(HUB_SECRETS) }, sent);

let isReady = false;
let isStopping = false;
let stoppedAt = 0;
hub.on("message", ({ url, listensAt }: { url: string; listensAt: string }) => {
  isReady = true;
  // The launcher prints this, so that it knows that the hub is ready before anybody else does.
  const behind = url === listensAt ? "" : ` (listens at ${listensAt})`;
  process.stdout.write(`Tidemark is ready at ${url}${behind}\n`);
});

function stopHub(): void {
  hub.kill("SIGTERM");
  setTimeout(() => hub.kill("SIGKILL"), LAST_CALL_MS).unref();
}

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  process.on(signal, () => {
    if (!isStopping) {
      isStopping = true;
      stoppedAt = performance.now();
      stopHub();
    } else if (performance.now() - stoppedAt > SAME_STOP_MS) hub.kill("SIGKILL");
  });
}

const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

signer.on("exit", () => {
  if (isStopping || hasEnded(hub)) return;
  isStopping = true;
  if (isReady)
    process.stderr.write("The process that holds the keys has ended, so the hub was stopped. Start it again.\n");
  process.exitCode = 1;
  stopHub();
});

hub.on("exit", (code, signal) => {
  signer.kill("SIGKILL");
  const isPlanned = isStopping && code === 0;
  if (isReady && !isStopping) {
    process.stderr.write(`The hub has ended unexpectedly (${signal ?? `exit code ${code}`}). Start it again.\n`);
  }
  process.exit(isPlanned ? (process.exitCode ?? 0) : code === 0 || code === null ? 1 : code);
});
