/**
 * The door to every npm script. It runs on whatever Node started it (20 or newer), installs what is missing, makes the
 * database client, and hands over to the project's own Node. Every step is skipped when its result is already there, so
 * that a second start costs a few hundredths of a second.
 *
 *   node ready.mjs demo|test|check|start|... [arguments]
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(fileURLToPath(import.meta.url));
const at = (...parts) => join(root, ...parts);

const TASKS = {
  demo: ["demo/main.ts"],
  test: ["e2e/gate/test.ts"],
  "test:near": ["e2e/gate/test-near.ts"],
  check: ["e2e/gate/check.ts"],
  start: ["server/main.ts"],
  hub: ["server/features/maintenance/command-line/main.ts"],
  build: ["e2e/gate/build.ts"],
  "build:worker": ["worker/build.ts"],
  tidemark: ["worker/main.ts"],
  bench: ["bench/main.ts"],
  prove: ["e2e/prove/main.ts"],
  prepare: null,
};

/** Tasks that start other processes. None of those outlives the task, see `e2e/gate/supervise.ts`. */
const SUPERVISED = ["demo", "test", "test:near", "check", "build", "bench", "prove"];
const isWindows = process.platform === "win32";

function fail(sentence) {
  process.stderr.write(`\n${sentence}\n`);
  process.exit(1);
}

/**
 * Kills the process group of `pid` when this process ends, also when it is killed: the shell reads from a pipe that only this
 * process holds open. Returns what ends the watch.
 */
function killWithUs(pid) {
  if (isWindows) return () => undefined;
  const watch = spawn("sh", ["-c", 'read -r _; kill -KILL -- "-$1" 2>/dev/null', "sh", String(pid)], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  return () => watch.kill("SIGKILL");
}

async function run(title, [program, ...args], options = {}) {
  process.stderr.write(`  ${title}\n`);
  const child = spawn(program, args, {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
    shell: isWindows,
    detached: !isWindows,
    ...options,
  });
  const endWatch = child.pid === undefined ? () => undefined : killWithUs(child.pid);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += String(chunk)));
  const status = await new Promise((resolve) => {
    child.on("error", (error) => {
      output += error.message;
      resolve(1);
    });
    child.on("close", (code) => resolve(code));
  });
  endWatch();
  if (status !== 0) {
    process.stderr.write(output);
    fail(`Could not finish: ${title}. The lines above say why; run the same command again after mending it.`);
  }
}

const digest = (...files) => {
  const hash = createHash("sha256");
  for (const file of files) hash.update(readFileSync(at(file)));
  return hash.digest("hex");
};

/** Runs `work` unless a stamp with the same digest says that it was done. */
async function once(stamp, wanted, work) {
  const file = at(stamp);
  if (existsSync(file) && readFileSync(file, "utf8") === wanted) return;
  await work();
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, wanted);
}

if (Number(process.versions.node.split(".")[0]) < 20) {
  fail(`Tidemark needs Node 20 or newer to start; this is ${process.version}.`);
}

const [task, ...rest] = process.argv.slice(2);
if (task === undefined || !(task in TASKS)) fail(`Choose one of: ${Object.keys(TASKS).join(", ")}.`);

const ownNode = at("node_modules", "node", "bin", isWindows ? "node.exe" : "node");

await once("node_modules/.tidemark-installed", digest("package-lock.json", "package.json"), async () => {
  // Install scripts stay off: the only one that matters puts the project's Node in place and is run by name below.
  // `install --no-save` and not `ci`: the lock file names what it could see of other platforms' optional binaries, and
  // `ci` refuses to go on where that list differs.
  const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  await run("installing packages", ["npm", "install", "--no-save", ...quiet]);
  if (!existsSync(ownNode)) {
    const cwd = at("node_modules", "node");
    await run("installing Node 24", [process.execPath, "installArchSpecificPackage.js"], { cwd });
  }
  const link = at("node_modules", ".bin", "node");
  if (!isWindows && !existsSync(link)) symlinkSync("../node/bin/node", link);
});
// One client for SQLite, and one for PostgreSQL from the schema that is derived from the first.
for (const [title, folder] of [
  ["making the database client", "prisma"],
  ["making the database client of PostgreSQL", "prisma/postgres"],
]) {
  const schema = `${folder}/schema.prisma`;
  await once(`${folder}/client/.made-from`, digest(schema, "package-lock.json"), async () => {
    // `generate` never runs the schema engine; naming any existing file keeps it from trying to download one.
    await run(title, [ownNode, at("node_modules/prisma/build/index.js"), "generate", "--schema", schema], {
      env: {
        ...process.env,
        PRISMA_SCHEMA_ENGINE_BINARY: ownNode,
        PRISMA_HIDE_UPDATE_MESSAGE: "1",
        CHECKPOINT_DISABLE: "1",
      },
    });
  });
}

// A person's start serves the pages as they are in the sources; the container image has them built already.
if (task === "start") await run("building what changed", [ownNode, "e2e/gate/build.ts"]);

const entry = TASKS[task];
if (entry !== null) {
  const isSupervised = SUPERVISED.includes(task) && !isWindows;
  const child = spawn(ownNode, [...(isSupervised ? ["e2e/gate/supervise.ts"] : []), ...entry, ...rest], {
    cwd: root,
    // A session of its own: signals of the terminal reach the task once, through this process.
    detached: isSupervised,
    stdio: ["inherit", "inherit", "inherit", isSupervised ? "pipe" : "ignore"],
    env: {
      ...process.env,
      PATH: `${at("node_modules", ".bin")}${delimiter}${process.env.PATH ?? ""}`,
      NODE_ENV:
        process.env.NODE_ENV ?? (task === "start" || task === "hub" || task === "demo" ? "production" : "development"),
    },
  });
  const control = child.stdio[3];
  control?.on("error", () => undefined);
  const passOn = (signal) => (isSupervised ? control.write(`${signal}\n`) : child.kill(signal));
  // The terminal sends Ctrl-C to the whole group; a supervisor sends SIGTERM to this process alone.
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => passOn(signal));
  process.on("SIGINT", () => isSupervised && passOn("SIGINT"));
  // npm that is killed passes no signal on; its script becomes the child of another process.
  if (isSupervised && process.env.npm_lifecycle_event !== undefined) {
    const npm = process.ppid;
    const watch = setInterval(() => {
      if (process.ppid === npm) return;
      clearInterval(watch);
      passOn("SIGTERM");
    }, 500);
    watch.unref();
  }
  child.on("exit", (code, signal) => process.exit(code ?? (signal === "SIGINT" ? 130 : 143)));
}
