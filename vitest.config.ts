import { defineConfig } from "vitest/config";

/** Unit tests sit beside the code they cover; conformance and process tests live in e2e/ and start real processes. */
export default defineConfig({
  test: {
    pool: "forks",
    projects: [
      {
        test: {
          name: "unit",
          include: [
            "{protocol,storage,store,worker,server,app,prisma,demo,bench,clients}/**/*.test.{ts,tsx}",
            "e2e/{gate,prove,stage}/**/*.test.ts",
          ],
          // The tests of whole programs start processes and belong with the process tests.
          exclude: ["{server,store,demo}/main.test.ts"],
          // Generous, like every wait below: a machine that builds servers beside the tests answers late, not wrongly.
          testTimeout: 60_000,
          hookTimeout: 60_000,
          expect: { poll: { timeout: 20_000 } },
          // One process runs many files: what they import is loaded once. Three of them, because much of a test is waiting.
          isolate: false,
          maxWorkers: 3,
        },
      },
      {
        test: {
          name: "conformance",
          include: ["e2e/conformance/**/*.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          expect: { poll: { timeout: 20_000 } },
        },
      },
      {
        test: {
          name: "process",
          include: ["e2e/process/**/*.test.ts", "{server,store,demo}/main.test.ts"],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          expect: { poll: { timeout: 20_000 } },
          // Four at a time: a third of a test is waiting for programs to start and to end.
          maxWorkers: 4,
        },
      },
      {
        test: {
          name: "faults",
          include: ["e2e/faults/**/*.test.ts"],
          testTimeout: 240_000,
          hookTimeout: 120_000,
          expect: { poll: { timeout: 20_000 } },
          // Most of a trial is waiting: for a watchdog, for a link that comes back.
          maxConcurrency: 5,
          fileParallelism: false,
        },
      },
    ],
  },
});
