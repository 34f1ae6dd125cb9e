import { setImmediate } from "node:timers/promises";
import { Fault } from "#protocol/faults/fault.ts";
import {
  kelpieBatch,
  kelpieListQuery,
  kelpieSubmission,
  kelpieWorker,
  type KelpieSubmission,
} from "#protocol/jobs/kelpie.ts";
import { queueName } from "#protocol/jobs/job-spec.ts";
import { id } from "#protocol/base/names.ts";
import { cancelWhere } from "../change-jobs.ts";
import { findRefusedWebhook } from "./check-webhooks.ts";
import { SCALING_ROUTES } from "./answer-scaling.ts";
import {
  issueOf,
  MOST_REPORT_BYTES,
  ok,
  refuse,
  sayWrong,
  wordsOf,
  type KelpieAnswer,
  type KelpieCall,
  type KelpieRoute,
} from "./kelpie-call.ts";
import { requirePerson, requireWorker } from "./kelpie-caller.ts";
import { endKelpie, hearKelpie } from "./report-kelpie.ts";
import { listKelpieJobs, readKelpieJob } from "./show-kelpie.ts";
import { submitKelpieJobs } from "./submit-kelpie.ts";
import { takeKelpieJob } from "./take-kelpie.ts";

/** Answers the calls of Kelpie's clients and workers: one row of `ROUTES` a call, in Kelpie's codes and bodies. */

const KIB = 1024;
/** Body of one submission, and of a batch. */
const MOST_JOB_BYTES = 1024 * KIB;
const MOST_BATCH_BYTES = 4 * 1024 * KIB;

/** How often one machine may ask for work. Kelpie's worker asks every ten seconds. */
const ASKED = { atOnce: 60, perSecond: 2 } as const;

/** Jobs of a batch that are checked without a pause. */
const AT_ONCE = 100;

const accepted = (body: unknown): KelpieAnswer => ({ status: 202, body });
const UNKNOWN_JOB: KelpieAnswer = { status: 404, body: { error: "Not Found", message: "Job not found" } };

async function submitOne({ hub, caller, readBody }: KelpieCall): Promise<KelpieAnswer> {
  const person = requirePerson(caller, "operator");
  const parsed = kelpieSubmission.safeParse(await readBody(MOST_JOB_BYTES));
  if (!parsed.success) return sayWrong(parsed.error);
  const refused = await findRefusedWebhook(hub, [parsed.data]);
  if (refused !== null) return refuse(refused.message);
  const [job] = await submitKelpieJobs(hub, person, [parsed.data]);
  return accepted(job);
}

/** Checks every job before any is stored, and names the first bad one by its index. */
async function submitMany({ hub, caller, readBody }: KelpieCall): Promise<KelpieAnswer> {
  const person = requirePerson(caller, "operator");
  const body = await readBody(MOST_BATCH_BYTES);
  const rows = kelpieBatch.safeParse(body);
  if (!rows.success) return sayWrong(rows.error);
  const jobs: KelpieSubmission[] = [];
  for (const [index, row] of rows.data.entries()) {
    const parsed = kelpieSubmission.safeParse(row);
    if (!parsed.success) return refuse(wordsOf(parsed.error), index);
    jobs.push(parsed.data);
    // Other calls have a turn.
    if (index % AT_ONCE === AT_ONCE - 1) await setImmediate();
  }
  const refused = await findRefusedWebhook(hub, jobs);
  if (refused !== null) return refuse(refused.message, refused.index);
  return accepted(await submitKelpieJobs(hub, person, jobs));
}

async function list({ hub, caller, query }: KelpieCall): Promise<KelpieAnswer> {
  const person = requirePerson(caller, "viewer");
  const parsed = kelpieListQuery.safeParse(Object.fromEntries(query));
  return parsed.success ? ok(await listKelpieJobs(hub, person, parsed.data)) : sayWrong(parsed.error);
}

async function show({ hub, caller, name }: KelpieCall): Promise<KelpieAnswer> {
  const person = requirePerson(caller, "viewer");
  const job = id.safeParse(name).success ? await readKelpieJob(hub, person, name) : null;
  return job === null ? UNKNOWN_JOB : ok(job);
}

async function cancel({ hub, caller, name }: KelpieCall): Promise<KelpieAnswer> {
  const person = requirePerson(caller, "operator");
  if (id.safeParse(name).success) await cancelWhere({ hub, caller: person }, { id: name, kelpie: { isNot: null } });
  return accepted({ message: "Job canceled" });
}

async function cancelQueue({ hub, caller, name }: KelpieCall): Promise<KelpieAnswer> {
  const person = requirePerson(caller, "operator");
  const queue = queueName.safeParse(name);
  if (!queue.success) return sayWrong(queue.error);
  const { changed } = await cancelWhere({ hub, caller: person }, { queue: queue.data, kelpie: { isNot: null } });
  return ok({ count: changed });
}

async function work({ hub, caller, query }: KelpieCall): Promise<KelpieAnswer> {
  const parsed = kelpieWorker.safeParse(Object.fromEntries(query));
  if (!parsed.success) return sayWrong(parsed.error);
  requireWorker(caller, parsed.data);
  const { machine_id: machine, container_group_id: queue } = parsed.data;
  hub.throttle.spend(`kelpie work:${queue}:${machine}`, ASKED);
  const job = await takeKelpieJob(hub, parsed.data);
  // The worker has no use for the address of the webhook, and its machine may be a stranger's.
  return ok(job === null ? [] : [{ ...job, webhook: null }]);
}

/** Reads the body of a report. @throws Fault BAD_INPUT, TOO_LARGE, ROLE_REQUIRED */
async function workerOf({ caller, readBody }: KelpieCall) {
  const parsed = kelpieWorker.safeParse(await readBody(MOST_REPORT_BYTES));
  if (!parsed.success) {
    const { path, message } = issueOf(parsed.error);
    throw new Fault("BAD_INPUT", { subject: path.map(String).join("."), detail: message });
  }
  requireWorker(caller, parsed.data);
  return parsed.data;
}

async function heartbeat(call: KelpieCall): Promise<KelpieAnswer> {
  const worker = await workerOf(call);
  const status = id.safeParse(call.name).success ? await hearKelpie(call.hub, call.name, worker) : null;
  return status === null ? UNKNOWN_JOB : ok({ status });
}

async function completed(call: KelpieCall): Promise<KelpieAnswer> {
  const worker = await workerOf(call);
  // As Kelpie does, also for a job that is not known: the worker would repeat the call and then end.
  if (id.safeParse(call.name).success) await endKelpie(call.hub, call.name, { worker, how: "completed" });
  return ok({ message: "Completed reported" });
}

async function failed(call: KelpieCall): Promise<KelpieAnswer> {
  const worker = await workerOf(call);
  const isKnown = id.safeParse(call.name).success && (await endKelpie(call.hub, call.name, { worker, how: "failed" }));
  return isKnown ? accepted({ message: "Failure reported" }) : UNKNOWN_JOB;
}

async function me({ hub, caller }: KelpieCall): Promise<KelpieAnswer> {
  const { person } = requirePerson(caller, "viewer");
  const user = await hub.db.user.findUnique({ where: { id: person.id }, select: { createdAt: true } });
  const created = user === null ? {} : { created: user.createdAt.toISOString() };
  return ok({ id: person.id, username: person.email, ...created });
}

const ROUTES: readonly KelpieRoute[] = [
  { method: "POST", path: /^\/jobs$/, answer: submitOne },
  { method: "POST", path: /^\/jobs\/batch$/, answer: submitMany },
  { method: "GET", path: /^\/jobs$/, answer: list },
  { method: "GET", path: /^\/jobs\/([^/]+)$/, answer: show },
  { method: "DELETE", path: /^\/jobs\/container-groups\/([^/]+)$/, answer: cancelQueue },
  { method: "DELETE", path: /^\/jobs\/([^/]+)$/, answer: cancel },
  { method: "GET", path: /^\/work$/, answer: work },
  { method: "POST", path: /^\/jobs\/([^/]+)\/heartbeat$/, answer: heartbeat },
  { method: "POST", path: /^\/jobs\/([^/]+)\/completed$/, answer: completed },
  { method: "POST", path: /^\/jobs\/([^/]+)\/failed$/, answer: failed },
  { method: "GET", path: /^\/users\/me$/, answer: me },
  ...SCALING_ROUTES,
];

const NO_ROUTE: KelpieAnswer = { status: 404, body: { error: "Route Not Found", message: "Kelpie has no such call" } };

/** Answers one call. `path` begins after `/kelpie`. @throws Fault ROLE_REQUIRED, BAD_INPUT, TOO_LARGE, those of the database */
export async function answerKelpie(
  { method, path }: { method: string; path: string },
  call: Omit<KelpieCall, "name">,
): Promise<KelpieAnswer> {
  for (const route of ROUTES) {
    const found = route.method === method ? route.path.exec(path) : null;
    if (found !== null) return route.answer({ ...call, name: decodeURIComponent(found[1] ?? "") });
  }
  return NO_ROUTE;
}
