import { execFileSync } from "node:child_process";
import { faultOf } from "../../stage/hub-client.ts";
import type { Stage } from "../../stage/open-stage.ts";
import { ROOT } from "../../stage/start-process.ts";
import { ask, type Asked } from "./ask.ts";
import { CALLERS, type CallerName, type Callers, makeCallers } from "./callers.ts";
import { type JsonSchema, makeHostile, makeValid, randomFrom } from "./make-input.ts";

/**
 * Calls every procedure of a hub as every kind of caller. Inputs have the right shape, maximum size, or one hostile part. An
 * answer must be a result or a Fault; internal errors are problems.
 */

interface Procedure {
  path: string;
  type: "query" | "mutation" | "subscription";
  who: string;
  needsSession: boolean;
  input: JsonSchema | null;
}

export interface Fuzzed {
  calls: number;
  /** Number of procedures that accepted an input; `procedures` is their total. */
  reached: number;
  procedures: number;
  problems: string[];
  slowest: { path: string; tookMs: number };
  largest: { path: string; bytes: number };
}

const MOST_NAMED = 40;
const LANES = 4;
/** Left out, because they end the caller's session. */
const NOT_ASKED = new Set(["auth.signOut", "sessions.endOthers", "auth.changePassword"]);
const RENEW_EVERY = 400;

export const readProcedures = (): Procedure[] =>
  JSON.parse(
    execFileSync(process.execPath, ["server/http/openapi/main.ts"], {
      cwd: ROOT,
      maxBuffer: 64 * 1024 * 1024,
      encoding: "utf8",
    }),
  ) as Procedure[];

/** Returns whether the input passed validation: success, or a fault other than BAD_INPUT. */
const isTaken = ({ status, code }: Asked): boolean => status === 200 || (code !== null && code !== "BAD_INPUT");

const wordsIn = (text: string): string[] =>
  [...text.matchAll(/"(?:id|run|nodeId|checkpointId|profileId|name|path|place)":"([^"\\]{1,128})"/g)].map(
    ([, word = ""]) => word,
  );

/** Collects ids, runs and paths from the hub's answers, so that later calls concern existing things. */
function learn(known: Set<string>, text: string, never: ReadonlySet<string>): void {
  for (const word of wordsIn(text)) if (known.size < 400 && !never.has(word)) known.add(word);
}

/** Returns the ids of the stage's admin account. Calls must not use them: without that account no caller could be renewed. */
async function ownerIds({ client }: Stage): Promise<Set<string>> {
  const found = [await client.users.list.query(), await client.sessions.list.query({})];
  return new Set(wordsIn(JSON.stringify(found)));
}

interface FuzzOptions {
  seed: number;
  untilMs: number;
  /** Seeds to repeat instead of new ones, after half of the time was used to learn ids. Empty for none. */
  replay: readonly number[];
}

export async function fuzzRouter(stage: Stage, about: FuzzOptions): Promise<Fuzzed> {
  const procedures = readProcedures();
  const known = new Set(["llama", stage.profileId]);
  const never = await ownerIds(stage);
  const reached = new Set<string>();
  const fuzzed: Fuzzed = {
    calls: 0,
    reached: 0,
    procedures: procedures.length,
    problems: [],
    slowest: { path: "", tookMs: 0 },
    largest: { path: "", bytes: 0 },
  };
  const say = (problem: string) => {
    if (fuzzed.problems.length >= MOST_NAMED || fuzzed.problems.includes(problem)) return;
    fuzzed.problems.push(problem);
    console.log(`    ${new Date().toISOString()} after ${fuzzed.calls} calls: ${problem}`);
  };
  let callers: Callers = await makeCallers(stage);
  let seed = about.seed;
  const learnUntilMs = (performance.now() + about.untilMs) / 2;
  const nextSeed = (): number => {
    const next = seed++;
    if (about.replay.length === 0 || performance.now() < learnUntilMs) return next;
    return about.replay[next % about.replay.length] ?? next;
  };

  const askOnce = async (): Promise<void> => {
    const own = nextSeed();
    const random = randomFrom(own);
    const procedure = procedures[Math.floor(random() * procedures.length)];
    if (procedure === undefined || NOT_ASKED.has(procedure.path)) return;
    const caller = callerFor(procedure, random());
    const size = random() < 0.05 ? "full" : "small";
    const valid =
      procedure.input === null
        ? null
        : makeValid(procedure.input, { random, known: [...known, callers.rogue.nodeId], size });
    const input = random() < 0.5 ? valid : makeHostile(valid, random);
    const body = procedure.input === null && input === null ? null : JSON.stringify(input);
    const answer = await ask({ url: stage.hub.url, ...procedure, headers: callers.headersOf(caller), body });
    if (answer === null) return;
    fuzzed.calls++;
    if (isTaken(answer)) reached.add(procedure.path);
    if (answer.status === 200) learn(known, answer.text, never);
    if (answer.tookMs > fuzzed.slowest.tookMs)
      fuzzed.slowest = { path: procedure.path, tookMs: Math.round(answer.tookMs) };
    if (answer.bytes > fuzzed.largest.bytes) fuzzed.largest = { path: procedure.path, bytes: answer.bytes };
    if (answer.status >= 500 && (answer.code === null || answer.code === "INTERNAL")) {
      say(`${procedure.path} as ${caller} answers ${answer.status} (seed ${own}): ${(body ?? "").slice(0, 300)}`);
    }
  };

  const lane = async (): Promise<void> => {
    while (performance.now() < about.untilMs) {
      await askOnce().catch((error: unknown) => say(error instanceof Error ? error.message : String(error)));
      if (fuzzed.calls % RENEW_EVERY === RENEW_EVERY - 1)
        callers = await makeCallers(stage).catch((error: unknown) => {
          const text = error instanceof Error ? error.message : String(error);
          // The hub throttles the fuzzer's own sign-ins too.
          const isThrottled = faultOf(error)?.code === "TOO_MANY_TRIES" || text.includes("TOO_MANY_TRIES");
          if (!isThrottled) say(`nobody can join any more: ${text}`);
          return callers;
        });
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  fuzzed.reached = reached.size;
  return fuzzed;
}

/** Returns mostly a permitted caller, because the authorization guard stops the others early. */
function callerFor({ who, needsSession }: Procedure, chance: number): CallerName {
  if (chance < 0.15) return CALLERS[Math.floor((chance / 0.15) * CALLERS.length)] ?? "nobody";
  if (who === "node") return "node";
  if (who === "open") return "nobody";
  if (who === "viewer" || who === "operator" || who === "admin") {
    return !needsSession && who === "operator" && chance < 0.4 ? "token" : who;
  }
  return "admin";
}

/** Calls every query once more with the stage's own session and plain inputs. Returns those with internal errors. */
export async function listsThatFail(stage: Stage): Promise<string[]> {
  const headers = { origin: stage.hub.url, cookie: stage.cookie };
  const problems: string[] = [];
  const known = ["llama", stage.profileId];
  for (const { path, type, who, input } of readProcedures()) {
    if (type !== "query" || who === "node") continue;
    for (const own of [1, 2, 3]) {
      const made = input === null ? null : makeValid(input, { random: randomFrom(own), known, size: "small" });
      const answer = await ask({
        url: stage.hub.url,
        path,
        type,
        headers,
        body: made === null ? null : JSON.stringify(made),
      });
      if (answer?.status === 401) problems.push(`afterwards ${path} was not asked: ${answer.text.slice(0, 200)}`);
      if (answer !== null && answer.status >= 500 && (answer.code === null || answer.code === "INTERNAL"))
        problems.push(`afterwards ${path} answers ${answer.status}: ${answer.text.slice(0, 200)}`);
    }
  }
  return problems;
}
