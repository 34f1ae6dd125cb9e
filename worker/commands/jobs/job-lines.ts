import { shownStep, stepWords } from "#protocol/checkpoint/step-words.ts";
import type { JobSpec } from "#protocol/jobs/job-spec.ts";
import type { JobAttemptRow, JobDetail, JobLink, JobQueueRow, JobRow } from "#protocol/jobs/job-views.ts";
import { JOB_STATES } from "#protocol/jobs/job-states.ts";
import { formatCount, formatDuration } from "#protocol/base/units.ts";
import { shownName } from "../../command-line/command-context.ts";

/** Lines of `tidemark jobs` for people, and the facts of `--json`, in which times are ISO 8601. */

const iso = (epochMs: number | null): string | null => (epochMs === null ? null : new Date(epochMs).toISOString());

const withTimes = <
  T extends { createdAt: number; dueAt: number | null; startedAt: number | null; endedAt: number | null },
>(
  job: T,
) => ({
  ...job,
  createdAt: iso(job.createdAt),
  dueAt: iso(job.dueAt),
  startedAt: iso(job.startedAt),
  endedAt: iso(job.endedAt),
});

const KELPIE_WORDS = "synced by Kelpie, not verified";

const kelpieFacts = ({ kelpie }: JobRow) =>
  kelpie === null ? null : { ...kelpie, heartbeatAt: iso(kelpie.heartbeatAt) };

export const factsOfRow = (job: JobRow) => ({ ...withTimes(job), kelpie: kelpieFacts(job) });

export function factsOfDetail({ attemptRows, bans, ...job }: JobDetail) {
  const attempts = attemptRows.map((one) => ({ ...one, startedAt: iso(one.startedAt), endedAt: iso(one.endedAt) }));
  return {
    ...factsOfRow(job),
    attemptRows: attempts,
    bans: bans.map((ban) => ({ ...ban, until: iso(ban.until) })),
  };
}

const agoOf = (at: number, now: number): string => `${formatDuration(Math.max(0, now - at))} ago`;

/** Returns one line about a job. `now`: epoch ms. */
export function jobLine(job: JobRow, now: number): string {
  const place = job.node?.name ?? job.kelpie?.machine ?? null;
  const where = place === null || job.state !== "running" ? "" : ` on ${shownName(place)}`;
  const why = job.reason === null ? "" : `: ${shownName(job.reason)}`;
  const failed = job.failures === 0 ? "" : `, failed ${job.failures} of ${job.mostFailures} times`;
  const head = `${job.id}  ${job.state.padEnd(8)}  ${shownName(job.name)}`;
  const data = job.kelpie === null ? `run ${job.run}` : KELPIE_WORDS;
  return `${head}, ${data}, queue ${job.queue}, ${agoOf(job.createdAt, now)}${failed}${where}${why}`;
}

/** Returns what `jobs show` prints. */
export function jobLines(job: JobDetail, now: number): string[] {
  const { spec, attemptRows, bans } = job;
  const waits = job.dueAt === null || job.dueAt <= now ? [] : [`Due in ${formatDuration(job.dueAt - now)}.`];
  return [
    jobLine(job, now),
    ...(spec === null ? ["Its definition cannot be read: submit it again."] : specLines(spec, job.kelpie !== null)),
    `Submitted by ${shownName(job.owner)}, priority ${job.priority}.`,
    ...waits,
    ...(job.waits === null ? [] : [`It waits: ${shownName(job.waits)}.`]),
    ...job.after.map((one) => `After ${linkText(one)}`),
    ...job.followers.map((one) => `Followed by ${linkText(one)}`),
    ...attemptRows.map((one) => attemptLine(one, now)),
    ...bans.map(
      (ban) =>
        `Not given to ${shownName(ban.node.name)} for ${formatDuration(Math.max(0, ban.until - now))}: ${shownName(ban.reason)}`,
    ),
  ];
}

const linkText = ({ id, name, state }: JobLink): string => `${shownName(name)} (${id}): ${state}`;

/** Returns what a job runs. Kelpie's worker decides itself what it watches. */
function specLines({ command, arguments: given, watch, secrets, ...places }: JobSpec, isOfKelpie: boolean): string[] {
  const words = [command, ...given].map((word) => (/^[\w./:=@%+-]+$/.test(word) ? word : JSON.stringify(word)));
  const watches = watch.length === 0 ? "It watches no folder." : `Watches ${shownName(watch.join(", "))}`;
  const sealed = secrets.length === 0 ? [] : [`Secrets, sealed: ${secrets.join(", ")}`];
  return [`Command: ${shownName(words.join(" "))}`, ...(isOfKelpie ? [] : [watches]), ...placeLines(places), ...sealed];
}

function placeLines({ inputs, outputs }: Pick<JobSpec, "inputs" | "outputs">): string[] {
  const whereOf = ({ profile, prefix }: { profile?: string | undefined; prefix: string }) =>
    shownName(`${profile ?? "the bucket of its node"}: ${prefix}`);
  return [
    ...inputs.map((one) => `Input ${whereOf(one)}, to ${shownName(one.folder)}`),
    ...outputs.map((one) => `Output ${shownName(one.folder ?? (one.files ?? []).join(", "))}, to ${whereOf(one)}`),
  ];
}

function attemptLine(one: JobAttemptRow, now: number): string {
  const stepOf = (step: number | null): string => (step === null ? "the beginning" : stepWords(step));
  const took = formatDuration(Math.max(0, (one.endedAt ?? now) - one.startedAt));
  const reached = one.toStep === null ? "" : ` to ${stepWords(one.toStep)}`;
  const safe = one.safeStep === null ? "" : `, safe up to ${shownStep(one.safeStep)}`;
  const end =
    one.outcome === null ? "runs" : `${one.outcome}${one.reason === null ? "" : `: ${shownName(one.reason)}`}`;
  return `Attempt ${one.attempt} on ${shownName(one.node.name)}, ${took}, from ${stepOf(one.fromStep)}${reached}${safe}; ${end}`;
}

export function queueLine({ queue, counts, pausedAt, pausedBy, ...caps }: JobQueueRow, now: number): string {
  const all = JOB_STATES.map((state) => `${formatCount(counts[state])} ${state}`).join(", ");
  const by = pausedBy === null ? "" : ` by ${shownName(pausedBy)}`;
  const { mostRunning, mostPerOwner } = caps;
  const most = mostRunning === null ? "" : `; ${formatCount(mostRunning)} run at most`;
  const each = mostPerOwner === null ? "" : `; ${formatCount(mostPerOwner)} of one person run at most`;
  return `${queue}: ${all}${most}${each}${pausedAt === null ? "" : `; paused ${agoOf(pausedAt, now)}${by}`}`;
}
