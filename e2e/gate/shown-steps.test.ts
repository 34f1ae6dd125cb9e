import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "./run-step.ts";

/** A step that stands for a time of writing is a number of ten digits: `step-words` alone decides how any step is shown. */

/** Steps of metrics, which a program counted. */
const COUNTED =
  /^(protocol\/checkpoint\/step-words\.ts|app\/_inspect\/(draw-curve\.ts|loss-curve\.tsx)|app\/_ui\/charts\/chart-readout\.tsx)$/;
/** `step ${...}` and `step {...}` of a number, and `formatCount(...step)` where it is no count of steps. */
const BARE = [
  /\b[Ss]tep (?:\$\{|\{)(?:formatCount\(|(?:\w+\.)*step\})/,
  /formatCount\((?:\w+\.)*(?:\w*[a-z]Step|step)\)/,
] as const;

const files = globSync(["app/**/*.{ts,tsx}", "server/**/*.ts", "worker/**/*.ts", "protocol/**/*.ts"], {
  cwd: ROOT,
}).filter((file) => !/\.test\.|\/testing\//.test(file));

test("no sentence or page prints a step but by the words that know times of writing", () => {
  expect(files.length).toBeGreaterThan(1_000);
  const bare = files
    .filter((file) => !COUNTED.test(file))
    .flatMap((file) =>
      readFileSync(join(ROOT, file), "utf8")
        .split("\n")
        .flatMap((line, at) =>
          BARE.some((pattern) => pattern.test(line)) ? [`${file}:${at + 1}: ${line.trim()}`] : [],
        ),
    );
  expect(bare).toEqual([]);
});
