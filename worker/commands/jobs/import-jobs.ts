import { setTimeout as sleep } from "node:timers/promises";
import { MOST_GROUPS } from "#protocol/groups/groups.ts";
import type { ImportedRule, KelpieRule } from "#protocol/groups/kelpie-rules.ts";
import { importKelpieInput, type ImportedKelpieJob, type KelpieImport } from "#protocol/jobs/kelpie.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import { formatCount, formatDuration } from "#protocol/base/units.ts";
import { EXIT, shownName, usage, type CommandContext } from "../../command-line/command-context.ts";
import { adviseKelpieJobs } from "./check-kelpie-jobs.ts";
import { personOf, type Ask } from "./ask-as-person.ts";
import { kelpieOf, readKelpieJob, type KelpieJobRead, type KelpieSource } from "./kelpie-source.ts";
import { flagged, readYamlFile } from "./read-jobs.ts";

/**
 * `tidemark jobs import`: brings jobs of Salad's Kelpie into the hub, as jobs that Kelpie workers take. From a file it submits
 * them; from a running Kelpie it shows them, and moves them with --move. A job that was imported before stays as it is.
 */

/** Jobs of one call: a hundred of the largest ones fit into one body. */
const AT_ONCE = 100;
/** Calls to Kelpie at once. */
const CALLS = 8;

export async function importJobs(context: CommandContext, operands: readonly string[]): Promise<number> {
  const { config, terminal } = context;
  const [file, extra] = operands;
  const [address] = flagged(config, "kelpie");
  if (extra !== undefined || (file === undefined) === (address === undefined))
    throw usage("jobs import", "it takes one file of jobs (- for stdin), or --kelpie URL");
  if (file !== undefined && config.isOn("move"))
    throw usage("--move", "it moves the jobs of a running Kelpie: --kelpie URL");
  const ask = personOf(context);
  const source = address === undefined ? null : kelpieOf(config, address, context.signal);
  const read = source === null ? await readFileOfJobs(context, file ?? "") : await source.list();
  const { jobs, refused } = check(read);
  for (const { id, why } of refused)
    terminal.result(`${shownName(id)} cannot be imported: ${shownName(why)}`, {
      type: "job-refused",
      kelpieId: id,
      why,
    });
  for (const { says, count, first } of adviseKelpieJobs(jobs)) {
    const whom = count === 1 ? shownName(first) : `${shownName(first)} and ${formatCount(count - 1)} more`;
    terminal.say(`${whom}: ${says}.`, { type: "job-advice", says, count, first });
  }
  const rules = source === null ? null : { ask, source, ...(await source.listRules()) };
  const known = await send(ask, jobs, true);
  const fresh = known.filter(({ isNew }) => isNew).length;
  const queues = [...new Set(jobs.map(({ submission }) => submission.container_group_id))];
  const counts = { jobs: jobs.length, fresh, known: jobs.length - fresh, refused: refused.length, queues };
  const isShown = config.isOn("dry-run") || (source !== null && !config.isOn("move"));
  if (isShown) {
    if (rules !== null) await importRules(context, rules, "show");
    const how = source === null ? "" : " Add --move to import them and cancel them there.";
    const text = `${sumOf(counts)} would be imported.${how}`;
    terminal.result(text, { type: "jobs-imported", dryRun: true, moved: 0, ...counts });
    return refused.length > 0 ? EXIT.partly : EXIT.ok;
  }
  if (source !== null && rules !== null) {
    await move(context, { ask, source, jobs, counts });
    await importRules(context, rules, "move");
    return refused.length > 0 ? EXIT.partly : EXIT.ok;
  }
  await send(ask, jobs, false);
  terminal.result(`${sumOf(counts)} imported.`, { type: "jobs-imported", dryRun: false, moved: 0, ...counts });
  return refused.length > 0 ? EXIT.partly : EXIT.ok;
}

interface Counts {
  jobs: number;
  fresh: number;
  known: number;
  refused: number;
  queues: string[];
}

function sumOf({ fresh, known, refused, queues }: Counts): string {
  const before = known === 0 ? "" : `, ${formatCount(known)} imported before`;
  const not = refused === 0 ? "" : `, ${formatCount(refused)} cannot be imported`;
  return `${formatCount(fresh)} jobs of ${formatCount(queues.length)} queues${before}${not}`;
}

async function readFileOfJobs(context: CommandContext, file: string): Promise<KelpieJobRead[]> {
  const value = await readYamlFile(context, file);
  const inside = typeof value === "object" && value !== null && "jobs" in value ? value.jobs : value;
  const jobs: readonly unknown[] = Array.isArray(inside) ? inside : [inside];
  return jobs.map((job, index) => {
    const found = readKelpieJob(job);
    if (found === null) {
      const detail =
        "it has no id: import the answer of GET /jobs, because without ids a second import would double the jobs";
      throw usage(`${file}, job ${index + 1}`, detail);
    }
    return found;
  });
}

/** Checks jobs one by one as the hub does, so that a bad one leaves only itself out. */
function check(read: readonly KelpieJobRead[]) {
  const jobs: ImportedKelpieJob[] = [];
  const refused: { id: string; why: string }[] = [];
  const { element } = importKelpieInput.shape.jobs;
  for (const { id, failures, submission } of read) {
    const parsed = element.safeParse({ id, failures, submission });
    if (parsed.success) jobs.push(parsed.data);
    else {
      const [issue] = parsed.error.issues;
      const path = issue?.path.filter((part) => part !== "submission").join(".") ?? "";
      refused.push({ id, why: `${path === "" ? "" : `${path}: `}${issue?.message ?? "not valid"}` });
    }
  }
  return { jobs, refused };
}

async function send(ask: Ask, jobs: readonly ImportedKelpieJob[], dryRun: boolean): Promise<KelpieImport[]> {
  const answers: KelpieImport[] = [];
  for (let from = 0; from < jobs.length; from += AT_ONCE) {
    const some = jobs.slice(from, from + AT_ONCE);
    const answer = await ask("jobs.importKelpie", (client, signal) =>
      client.jobs.importKelpie.mutate({ jobs: some, dryRun }, { signal }),
    );
    answers.push(...answer.jobs);
  }
  return answers;
}

interface Rules {
  ask: Ask;
  source: KelpieSource;
  rules: readonly KelpieRule[];
  /** Number of rules in a form that the hub does not take. */
  refused: number;
}

/**
 * Sets the scaling rules in the hub, and removes there those whose group the hub scales now: two autoscalers would undo each
 * other's decisions. Moved after the jobs, because a rule without jobs would shrink its group. With "show" nothing is changed.
 */
async function importRules({ terminal }: CommandContext, given: Rules, how: "show" | "move"): Promise<void> {
  const { ask, source, rules, refused } = given;
  const dryRun = how === "show";
  const answers: ImportedRule[] = [];
  for (let from = 0; from < rules.length; from += MOST_GROUPS) {
    const some = rules.slice(from, from + MOST_GROUPS);
    const answer = await ask("groups.importRules", (client, signal) =>
      client.groups.importRules.mutate({ rules: some, dryRun }, { signal }),
    );
    answers.push(...answer.rules);
  }
  const idsOf = (outcome: ImportedRule["outcome"]) =>
    answers.filter((one) => one.outcome === outcome).map(({ containerGroupId }) => containerGroupId);
  const [set, kept, left] = [idsOf("set"), idsOf("kept"), idsOf("unknown")];
  if (!dryRun) for (const id of [...set, ...kept]) await source.removeRule(id);
  const parts = [
    ...(set.length === 0 ? [] : [`${rulesWords(set.length)} ${dryRun ? "would be set" : "set"}`]),
    ...(kept.length === 0 ? [] : [`${rulesWords(kept.length)} not imported, because the groups have rules here`]),
    ...(left.length === 0
      ? []
      : [`${rulesWords(left.length)} not imported, because no account on the page Groups has their container groups`]),
    ...(refused === 0 ? [] : [`${rulesWords(refused)} of another form not imported`]),
  ];
  if (parts.length === 0) return;
  terminal.say(`${parts.join("; ")}.`, { type: "scaling-rules", dryRun, set, kept, left, refused });
}

const rulesWords = (count: number): string =>
  count === 1 ? "one scaling rule" : `${formatCount(count)} scaling rules`;

interface Moving {
  ask: Ask;
  source: KelpieSource;
  jobs: readonly ImportedKelpieJob[];
  counts: Counts;
}

/**
 * Moves jobs so that none is lost and none runs twice: their queues are paused here, the jobs are imported, canceled there one by
 * one, and handed out when the workers there have heard it. A job that ended there meanwhile is canceled here.
 */
async function move(context: CommandContext, { ask, source, jobs, counts }: Moving): Promise<void> {
  const { terminal } = context;
  const rows = await ask("jobs.queues", (client, signal) => client.jobs.queues.query(undefined, { signal }));
  const paused = new Set(rows.flatMap(({ queue, pausedAt }) => (pausedAt === null ? [] : queue)));
  const own = counts.queues.filter((queue) => !paused.has(queue));
  for (const queue of own)
    await ask("jobs.pauseQueue", (client, signal) => client.jobs.pauseQueue.mutate({ queue }, { signal }));
  try {
    const imported = await send(ask, jobs, false);
    const handedOut = await cancelThere(source, imported);
    await waitForWorkers(context, jobs, handedOut);
    const ended = await findEnded(source, handedOut);
    if (ended.length > 0) await cancelHere(ask, ended);
    for (const queue of own)
      await ask("jobs.resumeQueue", (client, signal) => client.jobs.resumeQueue.mutate({ queue }, { signal }));
    const moved = imported.length - ended.length;
    const over = ended.length === 0 ? "" : `; ${formatCount(ended.length)} had ended there`;
    const text = `${formatCount(moved)} jobs of ${formatCount(counts.queues.length)} queues moved${over}.`;
    terminal.result(text, { type: "jobs-imported", dryRun: false, moved, ...counts });
  } catch (error) {
    if (own.length > 0) {
      const names = own.map(shownName).join(", ");
      const text = `Paused here until they are resumed, so that nothing runs twice: ${names}. Start the same command again; if nothing is left there, resume them on the page Jobs.`;
      terminal.say(text, { type: "queues-paused", queues: own });
    }
    throw error;
  }
}

/** Cancels the jobs at Kelpie. Returns those that a worker there was given. */
async function cancelThere(source: KelpieSource, imported: readonly KelpieImport[]): Promise<KelpieImport[]> {
  const handedOut: KelpieImport[] = [];
  await forEachOf(imported, CALLS, async (one) => {
    await source.cancel(one.kelpieId);
    if ((await source.readCanceled(one.kelpieId)).wasHandedOut) handedOut.push(one);
  });
  return handedOut;
}

/** Waits until every worker there has learned from a heartbeat that its job is canceled. @throws Fault CANCELLED */
async function waitForWorkers(
  { terminal, signal }: CommandContext,
  jobs: readonly ImportedKelpieJob[],
  handedOut: readonly KelpieImport[],
): Promise<void> {
  const given = new Set(handedOut.map(({ kelpieId }) => kelpieId));
  const intervals = jobs.flatMap(({ id, submission }) => (given.has(id) ? (submission.heartbeat_interval ?? 30) : []));
  if (intervals.length === 0) return;
  const forMs = Math.max(...intervals) * 2_000;
  const text = `Waiting ${formatDuration(forMs)} until the workers there have heard that their jobs are canceled.`;
  terminal.say(text, { type: "waiting", forMs });
  await sleep(forMs, undefined, { signal }).catch(() => {
    throw new Fault("CANCELLED", { op: "import" });
  });
}

/** Returns the ids here of jobs that completed or failed there, also after they were canceled. */
async function findEnded(source: KelpieSource, handedOut: readonly KelpieImport[]): Promise<string[]> {
  const ended: string[] = [];
  await forEachOf(handedOut, CALLS, async ({ kelpieId, id }) => {
    if ((await source.readCanceled(kelpieId)).hasEnded && id !== null) ended.push(id);
  });
  return ended;
}

async function cancelHere(ask: Ask, ids: readonly string[]): Promise<void> {
  for (let from = 0; from < ids.length; from += 1_000) {
    const which = { ids: ids.slice(from, from + 1_000) };
    await ask("jobs.cancel", (client, signal) => client.jobs.cancel.mutate({ which, dryRun: false }, { signal }));
  }
}
