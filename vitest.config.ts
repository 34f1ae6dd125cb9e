import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { SUITES } from "./e2e/gate/test-files.ts";
import LongestFirst from "./e2e/gate/longest-first.ts";
import { BUILT_WORKER } from "./e2e/stage/start-worker.ts";
import { PATIENCE_MS } from "./e2e/gate/patience.ts";

const filesOf = (name: keyof typeof SUITES) => ({
  include: [...SUITES[name].include],
  exclude: ["**/node_modules/**", ...SUITES[name].exclude],
});

const PATIENCE = {
  testTimeout: 900_000,
  hookTimeout: 900_000,
  expect: { poll: { timeout: PATIENCE_MS } },
  setupFiles: ["e2e/gate/wait-patiently.ts", "e2e/gate/record-cpu.ts"],
};

/** Hubs and workers start from one file each, hubs on a copy of a prepared data folder: `e2e/stage/prepare-hub.ts`. */
const ON_STAGE = {
  globalSetup: ["e2e/stage/prepare-hub.ts"],
  env: {
    GATE_HUB: join(import.meta.dirname, ".tools/hub/main.js"),
    GATE_WORKER: join(import.meta.dirname, BUILT_WORKER),
    NODE_COMPILE_CACHE: join(import.meta.dirname, ".tools/compile-cache"),
  },
};

/** Unit tests sit beside the code they cover; conformance and process tests live in e2e/ and start real processes. */
export default defineConfig({
  test: {
    pool: "forks",
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: "unit",
          ...filesOf("unit"),
          ...PATIENCE,
          globalSetup: ["e2e/stage/prepare-postgres.ts"],
          // One process runs many files: what they import is loaded once. Three of them, because much of a test is waiting.
          isolate: false,
          maxWorkers: 3,
          // A process ends before what V8 optimizes of the query compiler (WebAssembly) pays: a tenth of the CPU time of these tests.
          execArgv: ["--wasm-tiering-budget=200000000"],
        },
      },
      {
        test: {
          name: "conformance",
          ...filesOf("conformance"),
          ...PATIENCE,
        },
      },
      {
        test: {
          name: "process",
          ...ON_STAGE,
          ...filesOf("process"),
          ...PATIENCE,
          // As above. Four at a time beside the browser stories: more only wait for each other, and are late for limits of the product.
          isolate: false,
          maxWorkers: 4,
        },
      },
      {
        test: {
          name: "faults",
          ...filesOf("faults"),
          ...PATIENCE,
          // Most of a trial is waiting: for a watchdog, for a link that comes back.
          maxConcurrency: 5,
          fileParallelism: false,
        },
      },
      {
        // Needs PostgreSQL and PgBouncer: run by \`npm run prove -- postgres\`.
        test: { name: "postgres", ...ON_STAGE, include: ["e2e/postgres/**/*.test.ts"], ...PATIENCE },
      },
      {
        // Needs servers and clients that take minutes to build: run by \`npm run prove -- peers\`.
        test: { name: "peers", ...ON_STAGE, include: ["e2e/peers/**/*.test.ts"], ...PATIENCE },
      },
    ],
  },
});
