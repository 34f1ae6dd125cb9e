import { setScheduleInput, type JobScheduleRow } from "#protocol/jobs/schedules.ts";
import type { Environment } from "../../base/environment.ts";
import { shownName, usage, type CommandContext } from "../../command-line/command-context.ts";
import { personOf } from "./ask-as-person.ts";
import { flagged, readJobs } from "./read-jobs.ts";

/** `tidemark jobs schedule|schedules|unschedule`: jobs that the hub submits at times. */

const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());

/** Makes a schedule, or replaces the one of that name. */
export async function scheduleJob(
  context: CommandContext,
  operands: readonly string[],
  env: Environment,
): Promise<number> {
  const { config, terminal } = context;
  const [name, ...rest] = operands;
  const [cron] = flagged(config, "cron");
  if (name === undefined || name === "--" || rest.length === 0)
    throw usage(
      "jobs schedule",
      "it takes a name and a job: tidemark jobs schedule nightly --cron '0 3 * * *' job.yaml",
    );
  if (cron === undefined) throw usage("--cron", "it says when: --cron '0 3 * * *' is every day at 3 o'clock");
  const ask = personOf(context);
  const [job, another] = await readJobs(context, rest, env);
  if (job === undefined || another !== undefined) throw usage(rest[0] ?? "", "a schedule has one job");
  const timeZone = flagged(config, "cron-time-zone")[0] ?? "UTC";
  const parsed = setScheduleInput.safeParse({ name, cron, timeZone, overlaps: config.isOn("overlap"), job });
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw usage(`jobs schedule, ${issue?.path.join(".") ?? ""}`, issue?.message ?? "not valid");
  }
  const made = await ask("jobs.setSchedule", (client, signal) =>
    client.jobs.setSchedule.mutate({ ...parsed.data, job }, { signal }),
  );
  const next = iso(made.nextAt) ?? "";
  const text = `${made.isNew ? "Made" : "Replaced"} the schedule ${name}: its next job is submitted at ${next}.`;
  terminal.result(text, { type: "schedule-set", name, cron, timeZone, nextAt: next, isNew: made.isNew });
  return 0;
}

export async function listSchedules(context: CommandContext, operands: readonly string[]): Promise<number> {
  const [extra] = operands;
  if (extra !== undefined) throw usage(extra, "jobs schedules takes no words");
  const ask = personOf(context);
  const rows = await ask("jobs.schedules", (client, signal) => client.jobs.schedules.query(undefined, { signal }));
  for (const row of rows) {
    const times = { pausedAt: iso(row.pausedAt), nextAt: iso(row.nextAt), lastAt: iso(row.lastAt) };
    context.terminal.result(scheduleLine(row), { type: "schedule", ...row, ...times });
  }
  if (rows.length === 0) context.terminal.say("There are no schedules.", { type: "jobs", shown: 0, hasMore: false });
  return 0;
}

function scheduleLine({
  name,
  cron,
  timeZone,
  queue,
  command,
  secrets,
  owner,
  nextAt,
  lastJob,
  problem,
}: JobScheduleRow): string {
  const next = nextAt === null ? "paused" : `next at ${iso(nextAt) ?? ""}`;
  const last = lastJob === null ? "" : `; last job ${lastJob.id}: ${lastJob.state}`;
  const why = problem === null ? "" : `; ${shownName(problem)}`;
  const sealed = secrets.length === 0 ? "" : `, secrets ${secrets.join(", ")}`;
  const what = `${shownName(command)}${sealed}, queue ${queue}, of ${shownName(owner)}`;
  return `${name}  ${cron} (${timeZone}), ${next}: ${what}${last}${why}`;
}

export async function removeSchedule(context: CommandContext, operands: readonly string[]): Promise<number> {
  const [name, extra] = operands;
  if (name === undefined || extra !== undefined) throw usage("jobs unschedule", "it takes the name of one schedule");
  const ask = personOf(context);
  await ask("jobs.removeSchedule", (client, signal) => client.jobs.removeSchedule.mutate({ name }, { signal }));
  context.terminal.result(`Removed the schedule ${name}. Its jobs stay.`, { type: "schedule-removed", name });
  return 0;
}
