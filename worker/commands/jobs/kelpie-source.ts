import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import { kelpieRule, type KelpieRule } from "#protocol/groups/kelpie-rules.ts";
import { KELPIE_STATUSES, type KelpieStatus } from "#protocol/jobs/kelpie.ts";
import { networkFetch } from "#storage/network/fetch.ts";
import type { Config } from "../../command-line/config.ts";
import { usage } from "../../command-line/command-context.ts";

/** A client of a running Kelpie API: lists, reads and cancels its jobs. Its answers are a stranger's. */

/** A job of Kelpie as its API or a file has it; the fields of the submission are checked later. */
export interface KelpieJobRead {
  id: string;
  status: KelpieStatus | null;
  failures: number;
  /** All fields, without those that only an answer has. */
  submission: Record<string, unknown>;
}

/** Kelpie's answer about a job that was canceled. */
export interface CanceledThere {
  /** A worker was given it, and may run it until its next heartbeat. */
  wasHandedOut: boolean;
  /** It completed or failed, before the cancellation or after it. */
  hasEnded: boolean;
}

export interface KelpieSource {
  /** Lists the pending and running jobs, oldest first. @throws Fault KELPIE_REFUSED, KELPIE_UNREACHABLE */
  list(): Promise<KelpieJobRead[]>;
  /** Lists the scaling rules; `refused` are those in a form that the hub does not take. Faults as of `list`. */
  listRules(): Promise<{ rules: KelpieRule[]; refused: number }>;
  /** Removes a scaling rule. Faults as of `list`. */
  removeRule(id: string): Promise<void>;
  /** Cancels a job. Faults as of `list`. */
  cancel(id: string): Promise<void>;
  /** Reads a job that was canceled. Faults as of `list`. */
  readCanceled(id: string): Promise<CanceledThere>;
}

const CALL_MS = 30_000;
const TRIES = 4;
const PAGE = 500;
/** More pages are taken for an API that never ends. */
const MOST_PAGES = 2_000;
const MOST_PASSES = 10;
const PASSING: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);

const answered = z.looseObject({
  id: z.string().min(1).max(100),
  status: z.enum(KELPIE_STATUSES).catch("pending"),
  num_failures: z.number().int().min(0).catch(0),
});
const page = z.object({ jobs: z.array(z.unknown()) });
const rules = z.object({ rules: z.array(z.unknown()) });
const time = z.string().nullish();
const canceled = z.object({ started: time, completed: time, failed: time });

/** Fields of an answer that no submission has. */
const ANSWER_ONLY: ReadonlySet<string> = new Set(
  "id user_id status created started completed canceled failed heartbeat num_failures num_heartbeats machine_id".split(
    " ",
  ),
);

/** Returns a job of an answer, or of a file in the form of an answer. Null: it has no id. */
export function readKelpieJob(value: unknown): KelpieJobRead | null {
  const parsed = answered.safeParse(value);
  if (!parsed.success) return null;
  const fields = Object.entries(parsed.data).filter(([name, given]) => !ANSWER_ONLY.has(name) && given !== null);
  const { id, status, num_failures: failures } = parsed.data;
  return { id, status, failures: Math.min(failures, 100), submission: Object.fromEntries(fields) };
}

/** Reads address and key of a running Kelpie. @throws Fault BAD_INPUT */
export function kelpieOf(config: Config, address: string, signal: AbortSignal): KelpieSource {
  if (!/^https?:\/\//i.test(address) || !URL.canParse(address))
    throw usage(`--kelpie ${address}`, "it takes an http or https address");
  const base = address.replace(/\/+$/, "");
  const headers = headersOf(config);
  return connect({ base, headers, signal });
}

function headersOf(config: Config): Record<string, string> {
  const own = config.text("kelpie-key");
  if (own !== null) return { "x-kelpie-key": own };
  const salad = config.text("salad-key");
  if (salad === null)
    throw usage("--kelpie-key", "it needs KELPIE_API_KEY, or SALAD_API_KEY with organization and project");
  const organization = config.text("salad-organization");
  const project = config.text("salad-project");
  if (organization === null || project === null)
    throw usage("--salad-key", "it needs the organization and the project: --salad-organization, --salad-project");
  return { "salad-api-key": salad, "salad-organization": organization, "salad-project": project };
}

interface Connection {
  base: string;
  headers: Record<string, string>;
  signal: AbortSignal;
}

function connect({ base, headers, signal }: Connection): KelpieSource {
  async function once(method: string, path: string): Promise<{ status: number; body: unknown }> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(CALL_MS)]);
    const answer = await networkFetch(`${base}${path}`, { method, headers, redirect: "error", signal: limit });
    return { status: answer.status, body: await answer.json().catch(() => null) };
  }

  /** Calls again after answers and errors that pass; every call can be repeated. */
  async function call(method: string, path: string): Promise<{ status: number; body: unknown }> {
    for (let tries = 1; ; tries++) {
      const answer = await once(method, path).catch((error: unknown) => error as Error);
      if (signal.aborted) throw new Fault("CANCELLED", { op: "import" });
      const isOver = tries === TRIES;
      if (answer instanceof Error) {
        if (isOver) throw new Fault("KELPIE_UNREACHABLE", { op: "import", subject: base, cause: answer });
      } else if (!PASSING.has(answer.status)) return answer;
      else if (isOver) throw new Fault("KELPIE_UNREACHABLE", { op: "import", subject: base, status: answer.status });
      await sleep(500 * 2 ** tries, undefined, { signal }).catch(() => undefined);
    }
  }

  /** @throws Fault KELPIE_REFUSED for an answer of another shape */
  function read<T>(schema: z.ZodType<T>, { status, body }: { status: number; body: unknown }): T {
    const parsed = schema.safeParse(body);
    if (status >= 200 && status < 300 && parsed.success) return parsed.data;
    const detail = status >= 200 && status < 300 ? "it answered in another form than Kelpie" : `HTTP ${status}`;
    throw new Fault("KELPIE_REFUSED", { op: "import", subject: base, status, detail });
  }

  async function readList(status: KelpieStatus, found: Map<string, KelpieJobRead>): Promise<void> {
    for (let at = 1; at <= MOST_PAGES; at++) {
      const path = `/jobs?status=${status}&asc=true&page_size=${PAGE}&page=${at}`;
      const { jobs } = read(page, await call("GET", path));
      for (const value of jobs) {
        const job = readKelpieJob(value);
        if (job !== null) found.set(job.id, job);
      }
      if (jobs.length < PAGE) return;
    }
  }

  return {
    list: async () => {
      const found = new Map<string, KelpieJobRead>();
      // Jobs that leave a list between two pages move others to a page that was read already, so lists are read until
      // nothing is new. A job that is handed out meanwhile is in the second list.
      for (let before = -1, pass = 0; before !== found.size && pass < MOST_PASSES; pass++) {
        before = found.size;
        for (const status of ["pending", "running"] as const) await readList(status, found);
      }
      return [...found.values()];
    },
    listRules: async () => {
      const answer = await call("GET", "/scaling-rules");
      const all = answer.status === 404 ? [] : read(rules, answer).rules;
      const taken = all.flatMap((one) => kelpieRule.safeParse(one).data ?? []);
      return { rules: taken, refused: all.length - taken.length };
    },
    removeRule: async (id) => {
      const answer = await call("DELETE", `/scaling-rules/${encodeURIComponent(id)}`);
      // It was removed meanwhile.
      if (answer.status !== 404) read(z.unknown(), answer);
    },
    cancel: async (id) => {
      read(z.unknown(), await call("DELETE", pathOf(id)));
    },
    readCanceled: async (id) => {
      const answer = await call("GET", pathOf(id));
      if (answer.status === 404) return { wasHandedOut: false, hasEnded: false };
      // A cancel and a late report overwrite the state, and not the times of what was before.
      const { started = null, completed = null, failed = null } = read(canceled, answer);
      return { wasHandedOut: started !== null, hasEnded: completed !== null || failed !== null };
    },
  };
}

const pathOf = (id: string): string => `/jobs/${encodeURIComponent(id)}`;
