/**
 * The door to every npm script. It runs on whatever Node started it (20 or newer), installs what is missing, makes the
 * database client, and hands over to the project's own Node. Every step is skipped when its result is already there, so
 * that a second start costs a few hundredths of a second.
 *
 *   node ready.mjs demo|test|check|start|... [arguments]
 */
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(fileURLToPath(import.meta.url));
const at = (...parts) => join(root, ...parts);

const TASKS = {
  demo: ["demo/main.ts"],
  test: ["e2e/gate/test.ts"],
  check: ["e2e/gate/check.ts"],
  start: ["server/main.ts"],
  hub: ["server/upkeep/main.ts"],
  build: ["e2e/gate/build.ts"],
  "build:worker": ["worker/build.ts"],
  tidemark: ["worker/main.ts"],
  bench: ["bench/main.ts"],
  prove: ["e2e/prove/main.ts"],
  prepare: null,
};

function fail(sentence) {
  process.stderr.write(`\n${sentence}\n`);
  process.exit(1);
}

function run(title, command, options = {}) {
  process.stderr.write(`  ${title}\n`);
  const result = spawnSync(command[0], command.slice(1), {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
    shell: process.platform === "win32",
    maxBuffer: 64 * 1024 * 1024,
    ...options,
  });
  if (result.status !== 0) {
    process.stderr.write(String(result.stdout ?? "") + String(result.stderr ?? ""));
    fail(`Could not finish: ${title}. The lines above say why; run the same command again after mending it.`);
  }
}

const digest = (...files) => {
  const hash = createHash("sha256");
  for (const file of files) hash.update(readFileSync(at(file)));
  return hash.digest("hex");
};

/** Runs `work` unless a stamp with the same digest says that it was done. */
function once(stamp, wanted, work) {
  const file = at(stamp);
  if (existsSync(file) && readFileSync(file, "utf8") === wanted) return;
  work();
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, wanted);
}

if (Number(process.versions.node.split(".")[0]) < 20) {
  fail(`Tidemark needs Node 20 or newer to start; this is ${process.version}.`);
}

const [task, ...rest] = process.argv.slice(2);
if (task === undefined || !(task in TASKS)) fail(`Choose one of: ${Object.keys(TASKS).join(", ")}.`);

const ownNode = at("node_modules", "node", "bin", process.platform === "win32" ? "node.exe" : "node");

once("node_modules/.tidemark-installed", digest("package-lock.json", "package.json"), () => {
  // Install scripts stay off: the only one that matters puts the project's Node in place and is run by name below.
  // `install --no-save` and not `ci`: the lock file names what it could see of other platforms' optional binaries, and
  // `ci` refuses to go on where that list differs.
  const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  run("installing packages", ["npm", "install", "--no-save", ...quiet]);
  if (!existsSync(ownNode)) {
    run("installing Node 24", [process.execPath, "installArchSpecificPackage.js"], { cwd: at("node_modules", "node") });
  }
  const link = at("node_modules", ".bin", "node");
  if (process.platform !== "win32" && !existsSync(link)) symlinkSync("../node/bin/node", link);
});
once("prisma/client/.made-from", digest("prisma/schema.prisma", "package-lock.json"), () => {
  // `generate` never runs the schema engine; naming any existing file keeps it from trying to download one.
  run("making the database client", [ownNode, at("node_modules/prisma/build/index.js"), "generate"], {
    env: {
      ...process.env,
      PRISMA_SCHEMA_ENGINE_BINARY: ownNode,
      PRISMA_HIDE_UPDATE_MESSAGE: "1",
      CHECKPOINT_DISABLE: "1",
    },
  });
});

// A person's start serves the pages as they are in the sources; the container image has them built already.
if (task === "start") run("building what changed", [ownNode, "e2e/gate/build.ts"]);

const entry = TASKS[task];
if (entry !== null) {
  const child = spawn(ownNode, [...entry, ...rest], {
    cwd: root,
    stdio: "inherit",
    env: {
      ...process.env,
      PATH: `${at("node_modules", ".bin")}${delimiter}${process.env.PATH ?? ""}`,
      NODE_ENV:
        process.env.NODE_ENV ?? (task === "start" || task === "hub" || task === "demo" ? "production" : "development"),
    },
  });
  // The terminal sends Ctrl-C to the whole group; a supervisor sends SIGTERM to this process alone.
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  process.on("SIGINT", () => {});
  child.on("exit", (code, signal) => process.exit(code ?? (signal === "SIGINT" ? 130 : 143)));
}
