/** Writes metrics in the Prometheus text format 0.0.4, for the hub and the worker. Pure. */

export interface MetricFamily {
  /** Full name with prefix and unit; a counter ends in `_total`. */
  name: string;
  help: string;
  type: "counter" | "gauge" | "histogram";
  samples: readonly Sample[];
}

export interface Sample {
  /** `_bucket`, `_sum` or `_count` for a histogram; absent otherwise. */
  suffix?: string;
  labels?: Readonly<Record<string, string>>;
  value: number;
}

/** Escapes backslash, quote and line feed, as the format requires for label values. */
const escapeLabel = (text: string): string =>
  text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
const escapeHelp = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");

function valueText(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (value === Infinity) return "+Inf";
  return value === -Infinity ? "-Inf" : String(value);
}

function lineOf(name: string, { suffix = "", labels = {}, value }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
  return `${name}${suffix}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${valueText(value)}`;
}

export const writeExposition = (families: readonly MetricFamily[]): string =>
  families
    .map(({ name, help, type, samples }) =>
      [
        `# HELP ${name} ${escapeHelp(help)}`,
        `# TYPE ${name} ${type}`,
        ...samples.map((sample) => lineOf(name, sample)),
      ].join("\n"),
    )
    .map((block) => `${block}\n`)
    .join("");

/** Counts of durations in buckets with fixed bounds. */
export interface Durations {
  /** Upper bounds in seconds, ascending. */
  readonly bounds: readonly number[];
  /** One element more than `bounds`: the last counts durations above all bounds. */
  readonly counts: number[];
  sumSeconds: number;
}

export const createDurations = (bounds: readonly number[]): Durations => ({
  bounds,
  counts: Array.from({ length: bounds.length + 1 }, () => 0),
  sumSeconds: 0,
});

export function addDuration(durations: Durations, seconds: number): void {
  const found = durations.bounds.findIndex((bound) => seconds <= bound);
  const at = found === -1 ? durations.bounds.length : found;
  durations.counts[at] = (durations.counts[at] ?? 0) + 1;
  durations.sumSeconds += seconds;
}

export function samplesOf({ bounds, counts, sumSeconds }: Durations): Sample[] {
  let total = 0;
  const buckets = counts.map((count, at): Sample => {
    total += count;
    const bound = bounds[at];
    return { suffix: "_bucket", labels: { le: bound === undefined ? "+Inf" : String(bound) }, value: total };
  });
  return [...buckets, { suffix: "_sum", value: sumSeconds }, { suffix: "_count", value: total }];
}
