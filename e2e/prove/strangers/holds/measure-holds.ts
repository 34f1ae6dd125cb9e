import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Stage } from "../../../stage/open-stage.ts";
import { enrolRogue } from "../../../stage/rogue-node.ts";
import { waitUntil } from "../../../stage/wait-until.ts";
import { ask } from "../ask.ts";
import { makeCallers } from "../callers.ts";
import { readProcedures } from "../fuzz-router.ts";
import { fillLarge } from "./fill-large.ts";
import { type Call, callFor } from "./hold-inputs.ts";
import type { Held } from "./hold-probe.ts";
import { stageManyFiles, stageManyForeign } from "./many-files.ts";

/**
 * Calls every procedure of a hub of ten thousand nodes and measures how long each blocks the event loop. The minimum of
 * several tries counts, because other work of the hub only adds to it.
 */

/** Longest permitted blocking of the event loop by one call. */
export const MOST_HELD_MS = 50;
const TRIES = 4;
/** Results up to this are good enough to skip further tries. */
const FINE_MS = MOST_HELD_MS / 2;

export interface Measured {
  path: string;
  status: number;
  code: string | null;
  bytes: number;
  tookMs: number;
  /** Longest uninterrupted CPU time of the hub's thread; `stoodMs` is the longest time without a loop turn for any reason. */
  workedMs: number;
  stoodMs: number;
}

interface Prober {
  take(): Promise<Held>;
}

function createProber(pid: number, file: string): Prober {
  let number = 0;
  const read = (): Held | null => (existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Held) : null);
  return {
    take: async () => {
      process.kill(pid, "SIGUSR2");
      const held = await waitUntil("the hub says for how long it was held", async () => {
        const found = read();
        return found !== null && found.number > number ? found : null;
      });
      ({ number } = held);
      return held;
    },
  };
}

/** Returns the environment of a hub to be measured. */
export const probeEnv = (file: string): Record<string, string> => ({
  HOLD_PROBE_FILE: file,
  NODE_OPTIONS: `--import=${join(import.meta.dirname, "hold-probe.ts")}`,
});

interface Asking {
  stage: Stage;
  prober: Prober;
  headersOf: (name: Call["as"]) => Readonly<Record<string, string>>;
}

async function measure({ stage, prober, headersOf }: Asking, call: Call, tries = TRIES): Promise<Measured> {
  let best: Measured | null = null;
  for (let attempt = 0; attempt < tries; attempt++) {
    await prober.take();
    const body = call.input === undefined ? null : JSON.stringify(call.input);
    const answer = await ask({ url: stage.hub.url, ...call, headers: headersOf(call.as), body });
    const held = await prober.take();
    const { status = 0, code = null, bytes = 0, tookMs = 0 } = answer ?? {};
    const { workedMs, stoodMs } = held;
    if (best === null || workedMs < best.workedMs)
      best = { path: call.path, status, code, bytes, tookMs: Math.round(tookMs), workedMs, stoodMs };
    if (workedMs < FINE_MS) break;
  }
  if (best === null) throw new Error("nothing was asked");
  return best;
}

/** Measures the registration of a checkpoint of another tool, which is released again before each further try. */
async function measureAdoption(asking: Asking): Promise<Measured> {
  const { client } = asking.stage;
  const call = await stageManyForeign(asking.stage);
  let best: Measured | null = null;
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const one = await measure(asking, call, 1);
    if (one.status !== 200) return one;
    if (best === null || one.workedMs < best.workedMs) best = one;
    const { rows } = await client.checkpoints.list.query({ run: "foreign" });
    for (const { id } of rows) await client.adoptions.release.mutate({ id });
  }
  if (best === null) throw new Error("nothing was asked");
  return best;
}

async function measureText({ stage, prober }: Asking, path: string): Promise<Measured> {
  let best: Measured | null = null;
  for (let attempt = 0; attempt < TRIES; attempt++) {
    await prober.take();
    const startedAt = performance.now();
    const answer = await fetch(stage.hub.url + path);
    const { length: bytes } = await answer.text();
    const tookMs = Math.round(performance.now() - startedAt);
    const { workedMs, stoodMs } = await prober.take();
    if (best === null || workedMs < best.workedMs)
      best = { path, status: answer.status, code: null, bytes, tookMs, workedMs, stoodMs };
  }
  if (best === null) throw new Error("nothing was asked");
  return best;
}

/** Measures all calls. `hubPid` returns the pid of the hub's own process, which changes at each restart. */
export async function measureHolds(
  stage: Stage,
  about: { probeFile: string; hubPid: () => number },
): Promise<Measured[]> {
  await fillLarge(stage);
  const callers = await makeCallers(stage);
  const rogue = await enrolRogue(stage, { name: "many-files" });
  const headersOf: Asking["headersOf"] = (name) =>
    name === "node" ? { authorization: `Bearer ${rogue.credential}` } : callers.headersOf(name);
  const asking = { stage, prober: createProber(about.hubPid(), about.probeFile), headersOf };
  const measured: Measured[] = [];
  const checkpoints: string[] = [];
  for (const step of [1, 2]) {
    const many = await stageManyFiles(stage, rogue, step);
    checkpoints.push(many.checkpointId);
    // Repeating the same call changes nothing, so each can be measured several times.
    measured.push(await measure(asking, many.announce));
    measured.push(await measure(asking, await many.commit()));
  }
  measured.push(await measureAdoption(asking));
  const [manyFiles = "", manyFilesToo = ""] = checkpoints;
  const known = { profileId: stage.profileId, manyFiles, manyFilesToo, now: Date.now() };
  for (const procedure of readProcedures()) {
    if (procedure.type === "query") measured.push(await measure(asking, callFor(procedure, known)));
  }
  measured.push(await measure(asking, { path: "live.watch", type: "subscription", as: "admin", input: undefined }));
  for (const path of ["/metrics", "/healthz", "/api/openapi.json"]) measured.push(await measureText(asking, path));
  return measured.toSorted((a, b) => b.workedMs - a.workedMs);
}

/** Returns the lines of a table, longest blocking first. */
export function tableOf(measured: readonly Measured[]): string[] {
  const line = (cells: readonly (string | number)[]) =>
    cells.map((cell, at) => (at === 0 ? String(cell).padEnd(30) : String(cell).padStart(10))).join(" ");
  return [
    line(["call", "status", "bytes", "took ms", "held ms", "stood ms"]),
    ...measured.map(({ path, status, code, bytes, tookMs, workedMs, stoodMs }) =>
      line([path, code ?? status, bytes, tookMs, Math.round(workedMs), Math.round(stoodMs)]),
    ),
  ];
}

/** Returns calls that blocked the loop too long, or that were refused and therefore not measured. */
export function problemsOf(measured: readonly Measured[]): string[] {
  return measured.flatMap(({ path, status, code, workedMs }) => [
    ...(workedMs > MOST_HELD_MS ? [`${path} held the event loop for ${Math.round(workedMs)} ms`] : []),
    ...(status === 400 || status >= 500 ? [`${path} was not measured: ${code ?? status}`] : []),
  ]);
}
