import type { MetricFamily } from "./exposition.ts";

/**
 * Reads the text format 0.0.4 strictly (prometheus.io/docs/instrumenting/exposition_formats), for tests. Refuses what a
 * lenient scraper would skip and what `promtool check metrics` warns about. Pure.
 */

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const VALUE = /^(NaN|[+-]Inf|[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)$/i;
/** Units that are not Prometheus base units. */
const NOT_BASE = /_(ms|milliseconds?|minutes?|hours?|days?|bits?|kb|kib|mb|mib|gb|percent)(_|$)/;

export interface ReadFamily extends Pick<MetricFamily, "name" | "help"> {
  type: string;
  samples: { name: string; labels: Map<string, string>; value: number }[];
}

/** Parses an exposition into its metrics. @throws Error with the line that is wrong */
export function readExposition(text: string): ReadFamily[] {
  if (!text.endsWith("\n")) throw new Error("the last line does not end");
  const families: ReadFamily[] = [];
  const seen = new Set<string>();
  for (const line of text.slice(0, -1).split("\n")) {
    try {
      readLine(line, families, seen);
    } catch (error) {
      throw new Error(`${error instanceof Error ? error.message : String(error)}: ${line}`, { cause: error });
    }
  }
  for (const family of families) checkFamily(family);
  return families;
}

function readLine(line: string, families: ReadFamily[], seen: Set<string>): void {
  const help = /^# HELP (\S+) (.+)$/.exec(line);
  const last = families.at(-1);
  if (help !== null) {
    const name = help[1] ?? "";
    if (!NAME.test(name) || families.some((family) => family.name === name)) throw new Error("a name that cannot be");
    if (last !== undefined && last.type === "") throw new Error("the metric before has no type");
    families.push({ name, help: help[2] ?? "", type: "", samples: [] });
    return;
  }
  const type = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line);
  if (type !== null) {
    if (last === undefined || last.name !== type[1] || last.type !== "") throw new Error("a type without its help");
    last.type = type[2] ?? "";
    return;
  }
  if (last === undefined || last.type === "") throw new Error("a sample before its type");
  const sample = readSample(line);
  const suffixes = last.type === "histogram" ? ["_bucket", "_sum", "_count"] : [""];
  if (!suffixes.some((suffix) => sample.name === last.name + suffix)) throw new Error("a sample of another metric");
  const key = `${sample.name} ${JSON.stringify([...sample.labels].toSorted(([a], [b]) => (a < b ? -1 : 1)))}`;
  if (seen.has(key)) throw new Error("a sample that was there before");
  seen.add(key);
  last.samples.push(sample);
}

function readSample(line: string): ReadFamily["samples"][number] {
  const match = /^([^\s{]+)(\{.*\})? (\S+)$/.exec(line);
  const name = match?.[1] ?? "";
  const value = match?.[3] ?? "";
  if (!NAME.test(name)) throw new Error("a name that cannot be");
  if (!VALUE.test(value)) throw new Error("a value that is no number");
  return { name, labels: readLabels(match?.[2] ?? ""), value: numberOf(value) };
}

const numberOf = (text: string): number =>
  /inf/i.test(text) ? (text.startsWith("-") ? -Infinity : Infinity) : Number(text);

function readLabels(text: string): Map<string, string> {
  const labels = new Map<string, string>();
  if (text === "") return labels;
  let rest = text.slice(1, -1);
  while (rest !== "") {
    const pair = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/.exec(rest);
    const label = pair?.[1];
    if (pair === null || label === undefined || label.startsWith("__") || labels.has(label)) {
      throw new Error("labels that cannot be");
    }
    labels.set(label, pair[2] ?? "");
    rest = rest.slice(pair[0].length);
    if (pair[3] === "," && rest === "") throw new Error("labels that cannot be");
  }
  return labels;
}

function checkFamily({ name, help, type, samples }: ReadFamily): void {
  const refuse = (why: string): never => {
    throw new Error(`${name}: ${why}`);
  };
  if (type === "") refuse("it has no type");
  if (help.trim().length < 5) refuse("its help says nothing");
  if (NOT_BASE.test(name)) refuse("it is not in base units");
  if ((type === "counter") !== name.endsWith("_total")) refuse("counters, and only they, end in _total");
  if (type === "gauge" && /_(count|sum|bucket)$/.test(name)) refuse("it ends like a part of a histogram");
  for (const { labels, value } of samples) {
    if (type === "counter" && !(value >= 0)) refuse("a counter is not negative");
    if (type !== "histogram" && (labels.has("le") || labels.has("quantile")))
      refuse("its labels belong to other types");
  }
  if (type === "histogram") checkHistogram({ name, samples }, refuse);
}

function checkHistogram({ name, samples }: Pick<ReadFamily, "name" | "samples">, refuse: (why: string) => never): void {
  const named = (suffix: string) => samples.filter((sample) => sample.name === name + suffix);
  const buckets = named("_bucket").map(({ labels, value }) => ({ le: numberOf(labels.get("le") ?? "NaN"), value }));
  const [sum, count] = [named("_sum"), named("_count")];
  if (sum.length !== 1 || count.length !== 1 || buckets.length === 0) refuse("it is not whole");
  for (const [at, bucket] of buckets.entries()) {
    const before = buckets[at - 1];
    if (before !== undefined && !(before.le < bucket.le && before.value <= bucket.value))
      refuse("its buckets do not ascend");
  }
  const last = buckets.at(-1);
  if (last?.le !== Infinity || last.value !== count[0]?.value) refuse("its last bucket is not its count");
}

/** Returns the table rows of docs/metrics.md. */
export const metricRows = (families: readonly ReadFamily[]): string =>
  families
    .map(({ name, type, help, samples }) => {
      const labels = [...new Set(samples.flatMap((sample) => [...sample.labels.keys()]))].filter(
        (label) => label !== "le",
      );
      return `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(", ")} | ${help} |\n`;
    })
    .join("");
