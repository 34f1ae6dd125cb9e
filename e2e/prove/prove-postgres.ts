import { runStep, tell } from "../gate/run-step.ts";
import { listTestFiles, POSTGRES_TESTS } from "../gate/test-files.ts";
import { vitestStep } from "../gate/vitest-step.ts";
import { missingPostgres } from "../servers/start-postgres.ts";

/**
 * `npm run prove -- postgres [PATH...]`: runs the unit tests of the hub with PostgreSQL as their database, then a hub on
 * PostgreSQL as a process: with a worker, a pooler, a second hub, PostgreSQL killed, moved there and back, and restored from backups. With
 * paths: only the unit tests there.
 */

const FOLDERS = ["server/", "prisma/postgres/"];

/** Runs all steps and returns the exit code. */
export async function provePostgres(paths: readonly string[]): Promise<number> {
  const missing = await missingPostgres();
  if (missing !== null) {
    console.log(`PostgreSQL is left out: ${missing}.`);
    return 2;
  }
  const wanted = paths.length === 0 ? FOLDERS : paths;
  const all = [...listTestFiles().unit, ...POSTGRES_TESTS];
  const files = all.filter((file) => wanted.some((path) => file.startsWith(path)));
  const steps = [
    { title: "unit tests of the hub on PostgreSQL", project: "unit", files },
    ...(paths.length === 0 ? [{ title: "a hub on PostgreSQL", project: "postgres", files: [] }] : []),
  ];
  let isFine = files.length > 0;
  for (const { title, project, files: some } of steps) {
    const { read, ...step } = vitestStep(project, { files: some, env: { TEST_DATABASE: "postgres" } });
    const result = await runStep({ title, ...step });
    const report = read();
    tell(result, report ?? undefined);
    if (!result.ok || report === null) isFine = false;
    if (report !== null)
      console.log(`     ${report.passed} passed, ${report.failed} failed, ${report.skipped} skipped`);
  }
  return isFine ? 0 : 1;
}
