import { execFileSync } from "node:child_process";
import { findLeft } from "./find-left.ts";
import { distancesTo, readImportGraph } from "./import-graph.ts";
import { ROOT } from "./run-step.ts";
import { runSelection } from "./test.ts";
import { startSummary } from "./test-summary.ts";
import { chooseNear } from "./choose-near.ts";
import { listTestFiles } from "./test-files.ts";
import { readTimes } from "./times.ts";

/**
 * `npm run test:near`: runs tests that import what differs from main, nearest first, for about a minute. For tests left out it
 * prints the command that runs them.
 */

const BUDGET_SECONDS = 60;

const git = (...args: string[]): string[] =>
  execFileSync("git", args, { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] })
    .split("\n")
    .filter(Boolean);

/** Returns the commit at which this branch left main; the last commit where there is no main. */
function findBase(): string {
  for (const name of ["main", "origin/main"]) {
    try {
      return git("merge-base", "HEAD", name)[0] ?? "HEAD";
    } catch {
      // There is no branch of this name.
    }
  }
  return "HEAD";
}

/** Returns the files that differ from main: committed, in the working tree, or new. */
function findChanged(): string[] {
  const files = [...git("diff", "--name-only", findBase()), ...git("ls-files", "--others", "--exclude-standard")];
  return [...new Set(files)];
}

if (import.meta.main) {
  const changed = findChanged();
  const distances = distancesTo(changed, readImportGraph());
  const { selection, leftOut } = chooseNear(listTestFiles(), {
    distances,
    seconds: readTimes().files,
    budgetSeconds: BUDGET_SECONDS,
  });
  console.log(`     ${changed.length} changed files reach ${distances.size} files`);
  const summary = startSummary();
  await runSelection(summary, selection);
  for (const command of await findLeft()) summary.fail("a process was left behind", command);
  if (leftOut.length > 0) console.log(`     left out, they take too long: npm test -- ${leftOut.join(" ")}`);
  summary.end("part of the tests");
}
