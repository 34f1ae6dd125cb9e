import { withoutRedrawn } from "#protocol/base/terminal-output.ts";
import { formatBytes, formatCount } from "#protocol/base/units.ts";
import type { LogAnswer, LogPiece } from "#protocol/jobs/job-log.ts";
import { attemptNumber } from "#protocol/jobs/node-jobs.ts";
import { id } from "#protocol/base/names.ts";
import { systemClock } from "../../base/clock.ts";
import { flagged } from "./read-jobs.ts";
import { shownName, usage, type CommandContext } from "../../command-line/command-context.ts";
import { personOf } from "./ask-as-person.ts";

/** `tidemark jobs logs`: prints the output that the programs of a job have written, and follows it with --follow. */

const EVERY_MS = 1_000;

interface LogLine {
  fromByte: number;
  text: string;
}

/** Makes lines of pieces, and tells where bytes between them are missing. */
export function createLineCutter(told: {
  line(line: LogLine): void;
  gap(about: { fromByte: number; bytes: number }): void;
}) {
  let at = 0;
  let open: LogLine = { fromByte: 0, text: "" };
  const flush = () => {
    if (open.text !== "") told.line({ ...open, text: withoutRedrawn(open.text) });
    open = { fromByte: at, text: "" };
  };
  return {
    add: ({ fromByte, text }: LogPiece) => {
      if (fromByte > at) {
        flush();
        told.gap({ fromByte: at, bytes: fromByte - at });
        open = { fromByte, text: "" };
      }
      const lines = text.split("\n");
      let start = fromByte;
      for (const [index, line] of lines.entries()) {
        open.text += line;
        start += Buffer.byteLength(line) + 1;
        if (index === lines.length - 1) break;
        told.line({ ...open, text: withoutRedrawn(open.text) });
        open = { fromByte: start, text: "" };
      }
      at = fromByte + Buffer.byteLength(text);
    },
    /** Tells the last line, which has no end, and the bytes that are missing behind it. */
    end: (totalBytes: number) => {
      flush();
      if (totalBytes > at) told.gap({ fromByte: at, bytes: totalBytes - at });
    },
  };
}

export async function showLogs(context: CommandContext, operands: readonly string[]): Promise<number> {
  const { config, terminal, signal } = context;
  const [jobId, extra] = operands;
  if (jobId === undefined || extra !== undefined) throw usage("jobs logs", "it takes the id of one job");
  if (!id.safeParse(jobId).success) throw usage(`jobs logs ${jobId}`, "this is not the id of a job");
  const attempt = readAttempt(flagged(config, "attempt")[0]);
  const [words] = flagged(config, "find");
  const follows = config.isOn("follow");
  if (words !== undefined && follows) throw usage("--find", "it searches what is there; it cannot follow");
  const ask = personOf(context);
  const which = { id: jobId, ...(attempt !== undefined && { attempt }) };
  if (words !== undefined) {
    const found = await ask("jobs.findInLog", (client, limit) =>
      client.jobs.findInLog.query({ ...which, words }, { signal: limit }),
    );
    for (const line of found.lines) terminal.result(line.text, { type: "job-log-line", ...line });
    const count = found.lines.length === 1 ? "One line" : `${formatCount(found.lines.length)} lines`;
    const text = `${count} of attempt ${found.attempt}${found.hasMore ? "; there are more" : ""}.`;
    terminal.say(text, { type: "job-log-found", shown: found.lines.length, hasMore: found.hasMore });
    return 0;
  }
  const cutter = createLineCutter({
    line: (line) => terminal.result(line.text, { type: "job-log-line", ...line }),
    gap: (gap) => terminal.say(`[${formatBytes(gap.bytes)} left out]`, { type: "job-log-gap", ...gap }),
  });
  let fromByte = 0;
  let chosen = which;
  for (;;) {
    const answer: LogAnswer = await ask("jobs.log", (client, limit) =>
      client.jobs.log.query({ ...chosen, fromByte }, { signal: limit }),
    );
    // A later attempt that begins meanwhile must not continue the lines of this one.
    chosen = answer.attempt === 0 ? which : { id: jobId, attempt: answer.attempt };
    for (const piece of answer.pieces) cutter.add(piece);
    const isAtEnd = answer.pieces.length === 0;
    fromByte = Math.max(fromByte, answer.nextByte);
    if (!isAtEnd) continue;
    if (!follows || !(answer.isRunning || answer.attempt === 0)) {
      cutter.end(answer.isRunning ? 0 : answer.totalBytes);
      tellNothing(context, answer);
      return 0;
    }
    await systemClock.sleep(EVERY_MS, signal).catch(() => undefined);
    if (signal.aborted) return 0;
  }
}

/** Says why there is no output. */
function tellNothing(
  { terminal }: CommandContext,
  { attempt, totalBytes, keptBytes, isRunning, whyNotKept }: LogAnswer,
): void {
  if (keptBytes > 0) return;
  const why =
    whyNotKept !== null
      ? `No output of it is kept: ${shownName(whyNotKept)}.`
      : attempt === 0
        ? "No node has taken the job so far."
        : isRunning
          ? "Its program has written nothing so far, or nothing that the bucket has yet."
          : totalBytes === 0
            ? "Its program has written nothing."
            : "Nothing of its output came into the bucket.";
  terminal.say(why, { type: "note", sentence: why });
}

function readAttempt(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const parsed = attemptNumber.safeParse(Number(text));
  if (!parsed.success) throw usage(`--attempt ${text}`, "attempts are counted from 1");
  return parsed.data;
}
