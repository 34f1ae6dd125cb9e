import type * as z from "zod";
import { changeJobsInput, listJobsInput, type JobFilter } from "#protocol/jobs/job-views.ts";
import { expandJobs } from "#protocol/jobs/matrix.ts";
import { id } from "#protocol/base/names.ts";
import { formatCount } from "#protocol/base/units.ts";
import type { Environment } from "../../base/environment.ts";
import { closest } from "../../command-line/suggest.ts";
import { usage, type CommandContext } from "../../command-line/command-context.ts";
import { personOf } from "./ask-as-person.ts";
import { changeQueue } from "./change-queue.ts";
import { importJobs } from "./import-jobs.ts";
import { factsOfDetail, factsOfRow, jobLine, jobLines, queueLine } from "./job-lines.ts";
import { showLogs } from "./job-logs.ts";
import { listSchedules, removeSchedule, scheduleJob } from "./schedule-jobs.ts";
import { flagged, pairsOf, readJobs } from "./read-jobs.ts";

/**
 * `tidemark jobs`: what people do with jobs. `env` has the values of secrets that are named. Faults: BAD_INPUT,
 * API_TOKEN_REFUSED, NOT_FOUND, those of the hub.
 */
export async function manageJobs(context: CommandContext, env: Environment): Promise<number> {
  const [word, ...operands] = context.operands;
  const action = ACTIONS.find((one) => one.word === word);
  if (action !== undefined) return action.perform(context, operands, env);
  const words = ACTIONS.map((one) => one.word);
  const near = word === undefined ? null : closest(word, words);
  const detail = near === null ? `it takes ${words.join(", ")}` : `did you mean ${near}?`;
  throw usage(word === undefined ? "jobs" : `jobs ${word}`, detail);
}

interface Action {
  word: string;
  perform(context: CommandContext, operands: readonly string[], env: Environment): Promise<number>;
}

const ACTIONS: readonly Action[] = [
  { word: "submit", perform: submit },
  { word: "list", perform: list },
  { word: "show", perform: show },
  { word: "logs", perform: showLogs },
  { word: "cancel", perform: (context, ids) => change(context, "cancel", ids) },
  { word: "retry", perform: (context, ids) => change(context, "retry", ids) },
  { word: "queues", perform: queues },
  { word: "pause", perform: (context, operands) => changeQueue(context, "pause", operands) },
  { word: "resume", perform: (context, operands) => changeQueue(context, "resume", operands) },
  { word: "cap", perform: (context, operands) => changeQueue(context, "cap", operands) },
  { word: "schedule", perform: scheduleJob },
  { word: "schedules", perform: listSchedules },
  { word: "unschedule", perform: removeSchedule },
  { word: "import", perform: importJobs },
];

async function submit(context: CommandContext, operands: readonly string[], env: Environment): Promise<number> {
  const { config, terminal } = context;
  const ask = personOf(context);
  const jobs = await readJobs(context, operands, env);
  if (config.isOn("dry-run")) {
    const expanded = expandJobs(jobs);
    if ("wrong" in expanded) throw usage(`job ${expanded.index + 1}`, expanded.wrong);
    const made = expanded.jobs.length;
    const count = made === 1 ? "One job" : `${formatCount(made)} jobs`;
    terminal.result(`${count} would be submitted.`, { type: "jobs-checked", jobs: made });
    return 0;
  }
  const made = await ask("jobs.submit", (client, signal) => client.jobs.submit.mutate({ jobs }, { signal }));
  for (const job of made.jobs) {
    const { id: jobId, run, queue, state, isNew } = job;
    const text = isNew ? "" : `, submitted before: it is ${state}`;
    terminal.result(`${jobId}  run ${run}, queue ${queue}${text}`, { type: "job-submitted", ...job });
  }
  return 0;
}

/** Reads the filters that were given as flags. @throws Fault BAD_INPUT */
function filterOf({ config }: CommandContext): JobFilter {
  const labels = Object.entries(pairsOf("label", flagged(config, "label")));
  const [label, another] = labels;
  if (another !== undefined) throw usage(`--label ${another.join("=")}`, "jobs are chosen by one label");
  const parsed = listJobsInput.safeParse({
    states: flagged(config, "in-state"),
    queue: flagged(config, "queue")[0] ?? null,
    run: flagged(config, "run")[0] ?? null,
    label: label === undefined ? null : { name: label[0], value: label[1] },
    words: flagged(config, "title")[0] ?? "",
  });
  if (!parsed.success) throw refusal(parsed.error);
  const { states, queue, run, words, owner } = parsed.data;
  return { states, queue, run, label: parsed.data.label, words, owner };
}

const refusal = ({ issues: [issue] }: z.ZodError) =>
  usage(`jobs, ${issue?.path.join(".") ?? ""}`, issue?.message ?? "not valid");

async function list(context: CommandContext, operands: readonly string[]): Promise<number> {
  const { config, terminal } = context;
  const [extra] = operands;
  if (extra !== undefined) throw usage(extra, "jobs list takes filters only: --queue, --run, --label, --state, --name");
  const limit = config.number("most") ?? 0;
  if (limit < 1 || limit > 200) throw usage(`--most ${limit}`, "1 to 200");
  const filter = filterOf(context);
  const ask = personOf(context);
  const { rows, nextCursor } = await ask("jobs.list", (client, signal) =>
    client.jobs.list.query({ ...filter, cursor: null, limit }, { signal }),
  );
  const now = Date.now();
  for (const job of rows) terminal.result(jobLine(job, now), { type: "job", ...factsOfRow(job) });
  const hasMore = nextCursor !== null;
  const count = rows.length === 0 ? "No jobs" : `${formatCount(rows.length)} jobs`;
  terminal.say(`${count}${hasMore ? "; there are more" : ""}.`, { type: "jobs", shown: rows.length, hasMore });
  return 0;
}

async function show(context: CommandContext, operands: readonly string[]): Promise<number> {
  const [jobId, extra] = idsOf("show", operands);
  if (jobId === undefined || extra !== undefined) throw usage("jobs show", "it takes the id of one job");
  const ask = personOf(context);
  const job = await ask("jobs.get", (client, signal) => client.jobs.get.query({ id: jobId }, { signal }));
  context.terminal.result(jobLines(job, Date.now()), { type: "job", ...factsOfDetail(job) });
  return 0;
}

/** @throws Fault BAD_INPUT */
function idsOf(word: string, operands: readonly string[]): string[] {
  return operands.map((text) => {
    if (!id.safeParse(text).success) throw usage(`jobs ${word} ${text}`, "this is not the id of a job");
    return text;
  });
}

const DID = { cancel: "canceled", retry: "set to wait again" } as const;

async function change(
  context: CommandContext,
  action: "cancel" | "retry",
  operands: readonly string[],
): Promise<number> {
  const { config, terminal } = context;
  const ids = idsOf(action, operands);
  const filter = filterOf(context);
  const isFiltered =
    filter.states.length > 0 ||
    filter.words !== "" ||
    [filter.queue, filter.run, filter.label].some((one) => one !== null);
  if (ids.length === 0 && !isFiltered)
    throw usage(`jobs ${action}`, "it takes ids of jobs, or filters: --queue, --run, --label, --state, --name");
  if (ids.length > 0 && isFiltered) throw usage(`jobs ${action}`, "it takes ids or filters, not both");
  const dryRun = config.isOn("dry-run");
  const parsed = changeJobsInput.safeParse({ which: ids.length > 0 ? { ids } : { filter }, dryRun });
  if (!parsed.success) throw refusal(parsed.error);
  const ask = personOf(context);
  const answer = await ask(`jobs.${action}`, (client, signal) => client.jobs[action].mutate(parsed.data, { signal }));
  const { found, changed, running } = answer;
  const verbWords = `${dryRun ? "would be " : ""}${DID[action]}`;
  const stopped = action === "cancel" && running > 0 ? `; ${formatCount(running)} of them run` : "";
  const text = `${formatCount(changed)} of ${formatCount(found)} jobs ${verbWords}${stopped}.`;
  terminal.result(text, { type: "jobs-changed", wish: action, dryRun, ...answer });
  return 0;
}

async function queues(context: CommandContext, operands: readonly string[]): Promise<number> {
  const [extra] = operands;
  if (extra !== undefined) throw usage(extra, "jobs queues takes no words");
  const ask = personOf(context);
  const rows = await ask("jobs.queues", (client, signal) => client.jobs.queues.query(undefined, { signal }));
  const now = Date.now();
  for (const row of rows) {
    const pausedAt = row.pausedAt === null ? null : new Date(row.pausedAt).toISOString();
    context.terminal.result(queueLine(row, now), { type: "queue", ...row, pausedAt });
  }
  if (rows.length === 0) context.terminal.say("There are no queues yet.", { type: "jobs", shown: 0, hasMore: false });
  return 0;
}
