import { queueName } from "#protocol/jobs/job-spec.ts";
import { formatCount } from "#protocol/base/units.ts";
import { usage, type CommandContext } from "../../command-line/command-context.ts";
import { personOf, type Ask } from "./ask-as-person.ts";
import { flagged } from "./read-jobs.ts";

type Change = "pause" | "resume" | "cap";

/** `tidemark jobs pause|resume|cap QUEUE`. A cap that is not named stays. */
export async function changeQueue(
  context: CommandContext,
  change: Change,
  operands: readonly string[],
): Promise<number> {
  const { config, terminal } = context;
  const [name, extra] = operands;
  const parsed = queueName.safeParse(name);
  if (name === undefined || extra !== undefined) throw usage(`jobs ${change}`, "it takes the name of one queue");
  if (!parsed.success) throw usage(name, parsed.error.issues[0]?.message ?? "not a queue");
  const queue = parsed.data;
  const requested = {
    mostRunning: readCap("most-running", flagged(config, "most-running")[0]),
    mostPerOwner: readCap("most-per-owner", flagged(config, "most-per-owner")[0]),
  };
  const ask = personOf(context);
  if (change !== "cap") {
    const call = `${change}Queue` as const;
    await ask(`jobs.${call}`, (client, signal) => client.jobs[call].mutate({ queue }, { signal }));
    const text = change === "pause" ? `${queue} hands out no jobs until it is resumed.` : `${queue} hands out jobs.`;
    terminal.result(text, { type: "queue-changed", queue, change });
    return 0;
  }
  if (requested.mostRunning === undefined && requested.mostPerOwner === undefined)
    throw usage("jobs cap", "name a cap: --most-running N, --most-per-owner N, or any for no cap");
  const before = await capsOf(ask, queue);
  const caps = {
    mostRunning: requested.mostRunning === undefined ? before.mostRunning : requested.mostRunning,
    mostPerOwner: requested.mostPerOwner === undefined ? before.mostPerOwner : requested.mostPerOwner,
  };
  await ask("jobs.setQueueCaps", (client, signal) => client.jobs.setQueueCaps.mutate({ queue, ...caps }, { signal }));
  const text = `${queue}: ${capWords(caps.mostRunning)} run at a time, ${capWords(caps.mostPerOwner)} of one person.`;
  terminal.result(text, { type: "queue-changed", queue, change, ...caps });
  return 0;
}

const capWords = (cap: number | null): string =>
  cap === null ? "any number of jobs" : cap === 1 ? "one job" : `${formatCount(cap)} jobs`;

async function capsOf(ask: Ask, queue: string) {
  const rows = await ask("jobs.queues", (client, signal) => client.jobs.queues.query(undefined, { signal }));
  const row = rows.find((one) => one.queue === queue);
  return { mostRunning: row?.mostRunning ?? null, mostPerOwner: row?.mostPerOwner ?? null };
}

/** Returns null for `any`, undefined when the flag is not given. */
function readCap(flag: string, text: string | undefined): number | null | undefined {
  if (text === undefined) return undefined;
  if (text === "any") return null;
  const cap = Number(text);
  if (!Number.isInteger(cap) || cap < 1 || cap > 1_000_000)
    throw usage(`--${flag} ${text}`, "a whole number from 1, or any for no cap");
  return cap;
}
