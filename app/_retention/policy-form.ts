import { keepPolicy, USUAL_TRASH_MS, type KeepPolicy } from "#protocol/retention/keeping.ts";
import { parseSize } from "#protocol/wire/read-units.ts";

/** Typed values of a policy; empty fields are unset rules. The hub validates again. */
export interface PolicyForm {
  last: string;
  everySteps: string;
  every: string;
  everyUnit: "hours" | "days";
  metric: string;
  want: "min" | "max";
  bestCount: string;
  mostBytes: string;
  trashDays: string;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
const UNIT_MS = { hours: HOUR_MS, days: DAY_MS };

const textOf = (value: number | null): string => (value === null ? "" : String(value));

const UNITS = [
  ["TB", 1e12],
  ["TiB", 1024 ** 4],
  ["GB", 1e9],
  ["GiB", 1024 ** 3],
  ["MB", 1e6],
] as const;

/** Formats a size as `500 GB` when that is exact, otherwise in bytes. */
function sizeText(bytes: number | null): string {
  if (bytes === null) return "";
  const unit = UNITS.find(([, size]) => bytes % size === 0);
  return unit === undefined ? String(bytes) : `${bytes / unit[1]} ${unit[0]}`;
}

export function formOfPolicy(policy: KeepPolicy | null): PolicyForm {
  const everyMs = policy?.everyMs ?? null;
  const everyUnit = everyMs !== null && everyMs % DAY_MS === 0 ? "days" : "hours";
  return {
    last: textOf(policy?.last ?? null),
    everySteps: textOf(policy?.everySteps ?? null),
    every: everyMs === null ? "" : String(everyMs / UNIT_MS[everyUnit]),
    everyUnit,
    metric: policy?.best?.metric ?? "",
    want: policy?.best?.want ?? "min",
    bestCount: textOf(policy?.best?.count ?? null),
    mostBytes: sizeText(policy?.mostBytes ?? null),
    trashDays: String((policy?.trashMs ?? USUAL_TRASH_MS) / DAY_MS),
  };
}

export type PolicyErrors = Partial<Record<keyof PolicyForm, string>>;
type Read = { ok: true; policy: KeepPolicy } | { ok: false; errors: PolicyErrors };

const WHOLE = "a whole number, or nothing";

/** Returns the typed policy, or its errors by field. */
export function readPolicy(form: PolicyForm): Read {
  const errors: PolicyErrors = {};
  const wholeOf = (field: "last" | "everySteps" | "bestCount"): number | null => {
    const text = form[field].trim().replaceAll(",", "");
    if (text === "") return null;
    if (!/^[1-9]\d{0,11}$/.test(text)) errors[field] = WHOLE;
    return Number(text);
  };
  const timeOf = (field: "every" | "trashDays", unitMs: number): number | null => {
    const text = form[field].trim();
    if (text === "") return null;
    if (!/^\d{1,6}(\.\d{1,3})?$/.test(text) || Number(text) === 0) errors[field] = "a number above 0, or nothing";
    return Math.round(Number(text) * unitMs);
  };
  const bytesOf = (): number | null => {
    const text = form.mostBytes.trim();
    if (text === "") return null;
    try {
      return parseSize(text);
    } catch {
      errors.mostBytes = "a size like 500 GB or 2TiB, or nothing";
      return null;
    }
  };
  const metric = form.metric.trim();
  const count = wholeOf("bestCount");
  if (metric === "" && count !== null) errors.metric = "name the metric, for example loss";
  if (metric !== "" && count === null) errors.bestCount = "how many of the best to keep";
  const typed = {
    last: wholeOf("last"),
    everySteps: wholeOf("everySteps"),
    everyMs: timeOf("every", UNIT_MS[form.everyUnit]),
    best: metric === "" || count === null ? null : { metric, want: form.want, count },
    mostBytes: bytesOf(),
    trashMs: timeOf("trashDays", DAY_MS) ?? USUAL_TRASH_MS,
  };
  if (Object.keys(errors).length > 0) return { ok: false, errors };
  const parsed = keepPolicy.safeParse(typed);
  if (parsed.success) return { ok: true, policy: parsed.data };
  for (const { path, message } of parsed.error.issues) errors[FIELDS[String(path[0])] ?? "last"] = message;
  return { ok: false, errors };
}

const FIELDS: Readonly<Record<string, keyof PolicyForm>> = {
  last: "last",
  everySteps: "everySteps",
  everyMs: "every",
  best: "bestCount",
  mostBytes: "mostBytes",
  trashMs: "trashDays",
};

/** Returns the errors by the paths of the hub's input. */
export const errorsByPath = (errors: PolicyErrors): Record<string, string | undefined> => ({
  last: errors.last,
  everySteps: errors.everySteps,
  everyMs: errors.every,
  best: errors.bestCount ?? errors.metric,
  mostBytes: errors.mostBytes,
  trashMs: errors.trashDays,
});
