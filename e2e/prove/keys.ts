import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "../gate/build.ts";
import { KEY_KINDS, openKeyServices, type KeyKind, type KeyServices } from "../stage/key-services.ts";
import { runOnce } from "../stage/run-once.ts";
import { ROOT } from "../stage/start-process.ts";
import { startStore } from "../stage/start-store.ts";

/**
 * `npm run prove -- keys [--count N]`: copies a file to a store and back with keys of each kind, which expire many times on
 * the way. The service that issues them is unreachable for a while. Every copy must exit with 0, the bytes must be equal, and
 * no secret may be printed.
 */

const FILE_BYTES = 40_000_007;
const FLAGS = ["--part-size", "5MiB", "--limit-up", "8MB", "--limit-down", "8MB", "--retry-for", "1m"];
const LIFE_MS = 1_500;
/** How long the service does not answer during each copy, in milliseconds. */
const AWAY_MS = 2_000;

async function copyWith(
  kind: KeyKind,
  about: { services: KeyServices; dir: string; program: string[] },
): Promise<string[]> {
  const { services, dir, program } = about;
  const [entry = "", ...first] = program;
  const problems: string[] = [];
  const [source, back, at] = [join(dir, "file"), join(dir, "back"), `s3://training/${kind.replace(" ", "-")}`];
  for (const ends of [
    [source, at],
    [at, back],
  ]) {
    const before = services.given;
    const timers = [
      setTimeout(() => (services.mode = "away"), 2_000),
      setTimeout(() => (services.mode = "given"), 2_000 + AWAY_MS),
    ];
    // A failing credential process gives no reason, so it counts as a refusal; it is not tested here.
    if (kind === "process") clearTimeout(timers[0]);
    const env = { ...services.environment(kind), TIDEMARK_STATE: join(dir, "state") };
    const { code, stdout, stderr } = await runOnce(entry, [...first, "cp", ...FLAGS, ...ends], {
      env,
      withinMs: 120_000,
    });
    for (const timer of timers) clearTimeout(timer);
    services.mode = "given";
    if (code !== 0) problems.push(`${kind}: ended with ${code}: ${stderr.trim().split("\n").at(-1)}`);
    if (services.given - before < 2) problems.push(`${kind}: no key ended on the way`);
    if ([...services.secrets].some((secret) => (stdout + stderr).includes(secret)))
      problems.push(`${kind}: said a secret`);
  }
  if (problems.length === 0 && !readFileSync(back).equals(readFileSync(source)))
    problems.push(`${kind}: other bytes came back`);
  rmSync(back, { force: true });
  return problems;
}

export async function proveKeys(argv: readonly string[]): Promise<number> {
  const { values } = parseArgs({ args: [...argv], options: { count: { type: "string", default: "3" } } });
  const count = Number(values.count);
  await build("dist/tidemark.mjs");
  const dir = mkdtempSync(join(tmpdir(), "tidemark-keys-"));
  writeFileSync(join(dir, "file"), randomBytes(FILE_BYTES));
  const store = await startStore({ dataDir: join(dir, "store"), control: "keys-control", flags: ["--no-fsync"] });
  const services = await openKeyServices(store, dir);
  services.lifeMs = LIFE_MS;
  const module = join(ROOT, "dist/tidemark.mjs");
  let failed = 0;
  try {
    for (let round = 0; round < count; round++) {
      for (const kind of KEY_KINDS) {
        const problems = await copyWith(kind, { services, dir, program: [module] });
        for (const problem of problems) console.log(`  x ${problem}`);
        failed += problems.length === 0 ? 0 : 1;
      }
    }
  } finally {
    await services.close();
    await store.stop();
    rmSync(dir, { recursive: true, force: true });
  }
  const all = count * KEY_KINDS.length;
  console.log(
    `${all - failed} of ${all} copies there and back held while ${services.given} keys were given out, each for ${LIFE_MS} ms.`,
  );
  return failed === 0 ? 0 : 1;
}
