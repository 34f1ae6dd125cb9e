import { spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { Socket } from "node:net";

/**
 * Starts Tidemark: the keeper, which holds the master key, and the hub, which never sees it, with one pipe between them.
 * Both end when this process does, however it does; when one of them ends, so does the other.
 */

const HERE = import.meta.dirname;
/** A hub that does not end by itself after this long is ended. */
const LAST_CALL_MS = 6_000;
/** One stop may arrive several times at once: from the terminal or a supervisor, and from each parent that passes it on. */
const SAME_STOP_MS = 1_000;

/**
 * A garbage collector left to itself holds much that nobody uses where memory is plenty: with 3,000 nodes 590 MB, of which
 * 304 were in use. The hub is to fit beside other things: its heap grows by four tenths before it is collected.
 */
const HUB_FLAGS = ["--heap-growing-percent=40", "--max-semi-space-size=8"];

/** The master key, and the one it replaces: for the keeper alone. */
const SECRETS = [
  "TIDEMARK_SECRET",
  "TIDEMARK_SECRET_FILE",
  "TIDEMARK_SECRET_PREVIOUS",
  "TIDEMARK_SECRET_PREVIOUS_FILE",
];

const keeperVariables = (): NodeJS.ProcessEnv => {
  const kept: NodeJS.ProcessEnv = { NODE_ENV: "production" };
  for (const name of ["PATH", "TZ", "TIDEMARK_DATA", ...SECRETS]) {
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
  for (const name of SECRETS) delete kept[name];
  return kept;
};

const keeper = spawn(process.execPath, [join(HERE, "keeper/main.ts")], {
  env: keeperVariables(),
  stdio: ["ignore", "inherit", "inherit", "pipe", "ipc"],
});
const pipe = keeper.stdio[3];
if (!(pipe instanceof Socket)) throw new Error("the keeper has no pipe");
const hub = spawn(process.execPath, [...HUB_FLAGS, join(HERE, "hub/main.ts")], {
  env: hubVariables(),
  stdio: ["ignore", "inherit", "inherit", pipe, "ipc"],
});
// The hub holds this end now.
pipe.destroy();

let isReady = false;
let isStopping = false;
let stoppedAt = 0;
hub.on("message", (message: { url: string }) => {
  isReady = true;
  // Said here, so that whoever reads it finds a launcher that knows.
  process.stdout.write(`Tidemark is ready at ${message.url}\n`);
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

keeper.on("exit", () => {
  if (isStopping || hasEnded(hub)) return;
  isStopping = true;
  if (isReady)
    process.stderr.write("The process that holds the keys has ended, so the hub was stopped. Start it again.\n");
  process.exitCode = 1;
  stopHub();
});

hub.on("exit", (code, signal) => {
  keeper.kill("SIGKILL");
  const isPlanned = isStopping && code === 0;
  if (isReady && !isStopping) {
    process.stderr.write(`The hub has ended unexpectedly (${signal ?? `exit code ${code}`}). Start it again.\n`);
  }
  process.exit(isPlanned ? (process.exitCode ?? 0) : code === 0 || code === null ? 1 : code);
});
