import { sentenceOf } from "#protocol/faults/fault.ts";
import { FAULTS, type FaultCode } from "#protocol/faults/fault-table.ts";
import type { LoggedRequest } from "../stage/store-control.ts";
import type { Ending } from "./copy.ts";
import type { FaultClass } from "./fault-class.ts";

/** What must hold after every trial, whatever went wrong. Each text is one thing that did not. */

/** The words a fault is told with, without what it was about. */
const spoken = (code: FaultCode) => sentenceOf({ code }).split(/[.(]/)[0] ?? "";

/** Exit code of a command of many files of which some failed and others did not. */
const PARTLY = 8;

export function judgeEnding(one: FaultClass, ending: Ending): string[] {
  const { code, fault, sentence, stderr } = ending;
  const problems: string[] = [];
  const told = `exit ${code ?? ending.signal}, ${fault ?? "no fault"}${sentence === null ? "" : `: ${sentence}`}`;
  if (/\n\s+at .+:\d+:\d+/.test(stderr) || /Error:/.test(stderr)) problems.push(`it printed a stack: ${stderr}`);
  if (one.stopped?.includes(code ?? -1)) return problems;
  if (code === 0) {
    if (one.mustEnd !== undefined) problems.push(`it succeeded, but should have said ${one.mustEnd.join(" or ")}`);
    if (fault !== null) problems.push(`it said ${fault} and exited 0`);
    return problems;
  }
  const expected = one.mustEnd ?? one.mayEnd ?? [];
  // Of many files that all failed, the code says why.
  const [first] = ending.failed;
  const isOfFirst = first?.fault != null && code === FAULTS[first.fault].exit;
  if (fault === null && first !== undefined && (code === PARTLY || isOfFirst)) {
    const others = ending.failed.filter(({ fault }) => fault === null || !expected.includes(fault));
    return [...problems, ...others.map((other) => `a false error: ${other.name}: ${other.fault ?? "no fault"}`)];
  }
  if (fault === null) {
    problems.push(`it failed without naming a fault (${told}): ${stderr.slice(-500)}`);
    return problems;
  }
  if (!expected.includes(fault)) {
    problems.push(`${expected.length === 0 ? "a false error" : "another error than the expected"}: ${told}`);
  }
  if (code !== FAULTS[fault].exit) problems.push(`${fault} exits ${FAULTS[fault].exit}, not ${code}`);
  const faults = ending.stdout.split("\n").filter((line) => line.includes('"type":"fault"'));
  if (faults.length !== 1) problems.push(`it told its end ${faults.length} times`);
  if (sentence === null || !sentence.includes(spoken(fault))) problems.push(`no clear sentence: ${told}`);
  return problems;
}

/** Headers that no store can be expected to take, and secrets that may stand nowhere. */
export function judgeManners(about: {
  log: readonly LoggedRequest[];
  endings: readonly Ending[];
  secret: string;
}): string[] {
  const problems: string[] = [];
  for (const header of ["expect", "x-amz-decoded-content-length", "x-amz-trailer"]) {
    const sent = about.log.filter(({ headerNames }) => headerNames.includes(header)).length;
    if (sent > 0) problems.push(`${sent} requests carried the header ${header}`);
  }
  for (const { stdout, stderr } of about.endings) {
    const all = stdout + stderr;
    if (all.includes(about.secret) || /X-Amz-Signature=/i.test(all)) problems.push("a secret was printed");
  }
  return problems;
}

/** Body bytes of parts that reached the store, and body bytes of objects that left it. */
export function movedBytes(log: readonly LoggedRequest[], direction: "up" | "down"): number {
  const wanted = direction === "up" ? ["UploadPart", "PutObject"] : ["GetObject"];
  return log
    .filter(({ operation }) => wanted.includes(operation))
    .reduce((sum, one) => sum + (direction === "up" ? one.receivedBytes : one.sentBytes), 0);
}

/** What carries the bytes of files. */
export const DATA_OPERATIONS = ["UploadPart", "PutObject", "GetObject"] as const;

export const isData = ({ operation }: Pick<LoggedRequest, "operation">): boolean =>
  DATA_OPERATIONS.some((one) => one === operation);

/** Most data requests that were under way at the same time. */
export function mostAtOnce(log: readonly LoggedRequest[]): number {
  const data = log.filter(isData);
  const edges = data
    .flatMap(({ atMs, durationMs }) => [
      { at: atMs - durationMs, step: 1 },
      { at: atMs, step: -1 },
    ])
    .sort((a, b) => a.at - b.at || a.step - b.step);
  let now = 0;
  let most = 0;
  for (const { step } of edges) {
    now += step;
    most = Math.max(most, now);
  }
  return most;
}
