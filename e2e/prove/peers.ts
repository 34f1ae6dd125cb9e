import { runStep, tell } from "../gate/run-step.ts";
import { vitestStep } from "../gate/vitest-step.ts";

/**
 * `npm run prove -- peers`: runs what the gate leaves out, because building these servers and clients with Go takes minutes.
 * It covers conformance with MinIO, rclone with the embedded store, every engine of `tidemark bench`, and temporary keys of a
 * real store.
 */

const STEPS = [
  { title: "conformance with MinIO and rclone", project: "conformance", files: [] },
  { title: "every engine", project: "process", files: ["e2e/process/bench-engines.test.ts"] },
  { title: "keys that a real store lends", project: "peers", files: [] },
] as const;

/** Runs all steps and returns the exit code. A skipped test is a failure. */
export async function provePeers(): Promise<number> {
  let isFine = true;
  for (const { title, project, files } of STEPS) {
    const { read, ...step } = vitestStep(project, { files, env: { GATE_PEERS: "all" } });
    const result = await runStep({ title, ...step });
    const report = read();
    tell(result, report ?? undefined);
    if (!result.ok || report === null || report.skipped > 0) isFine = false;
    if (report !== null)
      console.log(`     ${report.passed} passed, ${report.failed} failed, ${report.skipped} skipped`);
  }
  return isFine ? 0 : 1;
}
